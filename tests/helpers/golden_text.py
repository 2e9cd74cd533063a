"""What golden files hold, as text: the texts of a page, of a command's help and of the public interface."""

import importlib
import inspect
import re
from difflib import unified_diff
from html.parser import HTMLParser
from typing import Any, ClassVar

ROOMS = (
    "massart",
    "massart.arena",
    "massart.data",
    "massart.errors",
    "massart.evaluation",
    "massart.log",
    "massart.theory",
    "massart.worlds",
)
_NUMBER = re.compile(r"[-−+]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?")


def number_of(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def differences(golden: str, found: str) -> list[str]:
    """Nothing, or a diff: words exactly, whole numbers exactly, decimal fractions by more than their rounding allows.

    A fraction may differ by one part in a billion, or by one unit of its last printed digit: `exp`, `log` and sums
    of NumPy give another last digit on another processor.
    """
    old, new = golden.splitlines(), found.splitlines()
    if len(old) == len(new) and all(map(_same, old, new)):
        return []
    return list(unified_diff(old, new, "golden", "found", lineterm="", n=0))


def _same(a: str, b: str) -> bool:
    if a == b:
        return True
    first, second = _NUMBER.findall(a), _NUMBER.findall(b)
    return _NUMBER.split(a) == _NUMBER.split(b) and all(map(_near, first, second))


def _near(a: str, b: str) -> bool:
    if "." not in a + b and "e" not in a + b:
        return a == b
    digits = len(a.partition("e")[0].partition(".")[2])
    unit = 10.0**-digits if digits < 8 else 0.0
    return abs(number_of(a) - number_of(b)) <= 1.000001 * unit + 1e-9 * (1 + abs(number_of(a)))


class _Texts(HTMLParser):
    """One line per heading, paragraph, list entry and table row; cells are separated by bars."""

    SKIPPED = ("script", "style", "svg", "template")
    BLOCKS = (
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "li",
        "dt",
        "dd",
        "tr",
        "caption",
        "summary",
        "figcaption",
        "pre",
        "title",
        "button",
        "label",
        "option",
        "legend",
    )
    MARKS: ClassVar = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### "}

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._line = ""
        self._skipping = 0

    def flush(self, next_line: str = "") -> None:
        words = " ".join(self._line.split())
        if words.strip("|# "):
            self.lines.append(words)
        self._line = next_line

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._skipping += tag in self.SKIPPED
        if tag in self.BLOCKS:
            self.flush(self.MARKS.get(tag, ""))
        elif tag in ("td", "th"):
            self._line += " | "

    def handle_endtag(self, tag: str) -> None:
        self._skipping -= tag in self.SKIPPED
        if tag in self.BLOCKS:
            self.flush()

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self._line += data


def page_text(html: str) -> str:
    """The headings, paragraphs, notes and tables of a page; no script, style or drawing."""
    parser = _Texts()
    parser.feed(html)
    parser.flush()
    return "\n".join(parser.lines) + "\n"


def help_words(text: str) -> list[str]:
    """Help without frames and line breaks, which belong to the version of Rich."""
    return re.sub(r"[^\w\s!-~…]|[─-╿]", " ", text).split()


def interface() -> str:
    """The public names of all rooms: classes with their methods and properties, functions, with their parameters.

    Annotations are left out: their text depends on the version of Python and NumPy.
    """
    lines: list[str] = []
    for room in ROOMS:
        module = importlib.import_module(room)
        lines.append(f"[{room}]")
        for name in sorted(module.__all__):
            lines += _described(name, getattr(module, name))
        lines.append("")
    return "\n".join(lines)


def _described(name: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        inside = [line for key in sorted(dir(value)) for line in _member(value, key)]
        return [f"class {name}{_parameters(value)}", *(f"    {line}" for line in inside)]
    if inspect.ismodule(value):
        return [f"module {name}"]
    if callable(value):
        return [f"{name}{_parameters(value)}"]
    return [f"{name}: {type(value).__name__}"]


def _member(kind: type, key: str) -> list[str]:
    owner = next(base for base in kind.__mro__ if key in vars(base) or base is object)
    if key.startswith("_") or not owner.__module__.startswith("massart"):
        return []
    value = inspect.getattr_static(kind, key)
    if isinstance(value, (classmethod, staticmethod)):
        return [f"{type(value).__name__} {key}{_parameters(value.__func__)}"]
    if inspect.isfunction(value):
        return [f"{key}{_parameters(value)}"]
    return [key]


def _parameters(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [part.replace(annotation=part.empty) for part in signature.parameters.values()]
    text = str(signature.replace(parameters=parameters, return_annotation=signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)
