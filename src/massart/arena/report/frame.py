"""What every page of massart is made of: its style, and tables that scroll inside of their frame."""

from collections.abc import Sequence
from html import escape
from importlib import resources

__all__ = ["cell", "head", "part", "row_head", "table"]


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
