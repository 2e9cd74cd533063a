"""What every page of massart is made of: its style, and tables that scroll inside of their frame."""

from collections.abc import Sequence
from html import escape
from importlib import resources

from massart import __version__
from massart.arena.report.drawing import STYLE

__all__ = ["cell", "head", "page", "part", "row_head", "table"]


def part(name: str) -> str:
    """A file of this package: page.css, page.html or page.js."""
    return resources.files("massart.arena.report").joinpath(name).read_text(encoding="utf-8")


def table(label: str, caption: str, heads: Sequence[str], lines: Sequence[str], grid: bool = False) -> str:
    """A table that scrolls sideways inside of its frame; heads and lines are HTML."""
    name = escape(label, quote=True)
    return f"""<div class="frame"><p class="hint" aria-hidden="true">scroll sideways for more →</p>
<div class="scroll" tabindex="0" role="region" aria-label="{name}">
<table{' class="grid"' if grid else ""}><caption><span>{escape(caption)}</span></caption>
<thead><tr>{"".join(heads)}</tr></thead>
<tbody>
{chr(10).join(lines)}
</tbody></table></div></div>"""


def head(text: str, *, words: bool = False) -> str:
    """The head of a column; `text` is HTML."""
    return f'<th scope="col"{" class=words" if words else ""}>{text}</th>'


def row_head(name: str, ours: bool) -> str:
    """The head of a row, strong for ours."""
    return f'<th scope="row"{" class=ours" if ours else ""}>{escape(name)}</th>'


def cell(text: str) -> str:
    """A cell of a table."""
    return f"<td>{escape(text)}</td>"


def page(
    kicker: str,
    title: str,
    question: str,
    leads: Sequence[str],
    facts: str,
    warnings: Sequence[str],
    parts: Sequence[str],
    reading: Sequence[tuple[str, str]],
    command: str,
    again: str,
) -> str:
    """A whole page without a script; `warnings` and `parts` are HTML, all else is text.

    `reading` explains terms, `command` makes the page again, and `again` is a sentence about that.
    """
    terms = "\n".join(f"<dt>{escape(term)}</dt><dd>{escape(words)}</dd>" for term, words in reading)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>
{part("page.css")}{STYLE}</style>
</head>
<body>
<header>
<p class="kicker">{escape(kicker)}</p>
<h1>{escape(question)}</h1>
{"".join(f'<p class="lead">{escape(words)}</p>' for words in leads)}
<p class="facts">{escape(facts)}</p>
{chr(10).join(warnings)}
</header>
<main>
{chr(10).join(parts)}
<section id="reading">
<h2>How to read this page</h2>
<dl>
{terms}
</dl>
</section>
<section id="again">
<h2>Make this page again</h2>
<div class="command"><pre tabindex="0"><code>{escape(command)}</code></pre></div>
<p class="note">{escape(again)} It needs no network. massart {escape(__version__)}.</p>
</section>
</main>
</body>
</html>
"""
