"""An extension of Python-Markdown, for formulas and for the examples in docstrings.

TeX becomes MathML when the site is built, so that no script has to do it later: browsers show MathML by themselves.
`pymdownx.arithmatex` finds the formulas; this turns what it found into MathML. Lines of a docstring that begin with
>>>, up to the next empty line, become a block of code; pages have fences around theirs.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor

FOUND = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
# Browsers ignore bold and script as attributes, and know the letters.
FIRST_LETTERS = {"bold": (0x1D400, 0x1D41A, 0x1D7CE), "script": (0x1D49C, 0x1D4B6, None)}
NO_LETTERS = {"script": dict(zip("BEFHILMRego", "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True))}  # Unicode had these before the others
STYLED = re.compile(r'<(m[in]) mathvariant="(bold|script)">(\w+)</\1>')
# What latex2mathml does not know, or not after \Bigl, as what it knows.
SPELLED = {
    r"\arg": r"\operatorname{arg}",
    r"\lVert": r"\|",
    r"\rVert": r"\|",
    r"\lvert": "|",
    r"\rvert": "|",
    r"\lbrace": r"\{",
    r"\rbrace": r"\}",
}
SPELLINGS = re.compile("(?:" + "|".join(map(re.escape, SPELLED)) + ")(?![a-zA-Z])")
BARS = re.compile(r"<mo(?: stretchy=\"false\")?>(&#x0007C;|&#x02016;)</mo>")


class MathML(Postprocessor):
    """Runs after arithmatex's formulas were put back into the page."""

    def run(self, text: str) -> str:
        """The page with MathML in place of TeX."""
        return FOUND.sub(_converted, text)


class Examples(Preprocessor):
    """Runs before fences are looked for."""

    def run(self, lines: list[str]) -> list[str]:
        """The page with fences around examples that have none."""
        shown: list[str] = []
        fenced = inside = False
        for line in lines:
            text = line.strip()
            if text.startswith(("```", "~~~")):
                fenced = not fenced
            if not fenced and not inside and text.startswith(">>> "):
                shown += ["", "```pycon"]
                inside = True
            elif inside and not text:
                shown += ["```"]
                inside = False
            shown.append(line)
        return [*shown, "```"] if inside else shown


class SiteExtension(Extension):
    """`markdown_extensions: [pymdownx.arithmatex: {generic: true}, build_docs.markdown_extensions]`."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Called by Python-Markdown."""
        md.preprocessors.register(Examples(md), "examples", 100)
        md.postprocessors.register(MathML(md), "mathml", 1)


def makeExtension(**options: Any) -> SiteExtension:
    """What Python-Markdown looks for."""
    return SiteExtension(**options)


def formula(tex: str, display: str = "inline") -> str:
    """MathML that browsers show as TeX would: `display` is "inline" or "block"."""
    known = SPELLINGS.sub(lambda found: SPELLED[found[0]], tex.strip())
    made = STYLED.sub(
        lambda found: f"<{found[1]}>{_letters(found[2], found[3])}</{found[1]}>", convert(known, display=display)
    )
    made = BARS.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', made)
    if left := re.search(r">(\\[a-zA-Z]+)<", made):
        raise ValueError(f"{left[1]} is not known, in the formula {tex.strip()}")
    return made


def _converted(found: re.Match[str]) -> str:
    tag, bracket, tex = found.groups()
    made = formula(html.unescape(tex), "block" if bracket == "[" else "inline")
    return f'<{tag} class="math">{made}</{tag}>'


def _letters(style: str, text: str) -> str:
    capital, small, digit = FIRST_LETTERS[style]
    shown = []
    for letter in text:
        first, before = (capital, "A") if letter.isupper() else (digit, "0") if letter.isdigit() else (small, "a")
        shown.append(
            NO_LETTERS.get(style, {}).get(letter) or (chr(first + ord(letter) - ord(before)) if first else letter)
        )
    return "".join(shown)
