"""Texts to try on a parser, and how to read them: the same for the same seed, each nastier than a file will be."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from odd_numbers import number

_LETTERS = [bytes([c]) for c in b"0123456789.:|'#\t \r\n-+eEnaifIFqd_x\0\n\n  11::||ab"] + ["é".encode(), "字".encode()]
_WORDS = [
    b"1 ",
    b"-1 ",
    b" 1:",
    b" 7:.5",
    b" | ",
    b"|f ",
    b"|:2 ",
    b" :3",
    b"qid:",
    b"\r\n",
    b"e-",
    b"inf",
    b"nan",
    b"'t",
]


class Input(NamedTuple):
    """A text of whole lines and how to read it."""

    text: bytes
    format: str  # "svmlight" or "vw"
    bits: int | None
    features: int | None
    labels: tuple[str, str] | None
    labelled: bool
    crossed: bool  # whether the namespaces of entries are wanted


class _Writer:
    """Writes a file; if not `fair`, with something amiss here and there."""

    def __init__(self, rng: Random, labels: tuple[str, ...], *, fair: bool) -> None:
        self.rng, self.labels, self.fair = rng, labels, fair

    def amiss(self, chance: float) -> bool:
        return not self.fair and self.rng.random() < chance

    def number(self) -> str:
        return number(self.rng, fair=self.fair or self.rng.random() < 0.8)

    def blanks(self) -> str:
        return " " if self.rng.random() < 0.8 else "".join(self.rng.choices(" \t", k=self.rng.randrange(1, 5)))

    def label(self) -> str:
        return (
            self.rng.choice((self.number(), "", "#", "1#", "1:2")) if self.amiss(0.1) else self.rng.choice(self.labels)
        )

    def name(self) -> str:
        usual = ("a", "b", "c", "x1", "é", "", "12", "007", "4294967297", "a\rb", "#", "f'", "99999999999999999999999")
        longer = "".join(self.rng.choices("abcdef12", k=self.rng.randrange(1, 14)))
        return self.rng.choice((*usual, longer))

    def svmlight_field(self) -> str:
        if self.amiss(0.03):
            return self.rng.choice(("qid", "#", "5", ":", "1:", ":1", "a:1", "1:2:3", "1: 2", "1.0:1", "1e1:1", "+:1"))
        if self.amiss(0.03):
            return self.rng.choice(("0", "00", "-0", "-3", "+0", "33554433", "4294967296", "9" * 30)) + ":1"
        if self.rng.random() < 0.05:
            return self.rng.choice(("qid:3", "qid:", "qid:x:y", "+4:1", "007:2", "0000000000000000000000000005:-1"))
        return f"{self.rng.randrange(1, self.rng.choice((4, 4, 12, 100, 1 << 20)))}:{self.number()}"

    def svmlight_line(self) -> str:
        fields = "".join(self.blanks() + self.svmlight_field() for _ in range(self.rng.randrange(9)))
        end = self.rng.choice(("", "", "", " ", " # note", "#1:2", "\t"))
        return self.rng.choice(("", "", "", " ", "\t")) + self.label() + fields + ("# \0" if self.amiss(0.02) else end)

    def vw_feature(self) -> str:
        kind = self.rng.randrange(8)
        if kind < 3:
            return self.name() or "a"
        if kind == 3:
            return self.name() + (
                ":" if self.amiss(0.3) else self.rng.choice((":red", ":a:b", "::", ":1:2", ":é", ":1x"))
            )
        return f"{self.name()}:{self.number()}"

    def vw_namespace(self) -> str:
        name = self.rng.choice(("", "f", "far", "foo", self.name()))
        if self.amiss(0.1):
            name += self.rng.choice((":", ":1e101", ":1e80", ":nan", ":x", ":1:2", f":{self.number()}"))
        elif self.rng.random() < 0.15:
            name += self.rng.choice((":2", ":0", ":-0", ":0.5", ":1e-80", ":-3"))
        features = "".join(self.blanks() + self.vw_feature() for _ in range(self.rng.randrange(6)))
        return f"|{name}{features}{self.rng.choice(('', ' ', '  '))}"

    def vw_line(self) -> str:
        head = [] if self.rng.random() < 0.1 else [self.label()]
        if head and self.rng.random() < 0.3:
            weight = self.rng.choice(("0", "1", "2.5", "1e-50", "1e50", "1e-3"))
            head += [self.number() if self.amiss(0.5) else weight, self.number()][: self.rng.randrange(1, 3)]
        if self.amiss(0.05):
            head += ["1", "1", "1"]
        tag = self.rng.choice(("", " ", " ", " ", " 'tag ", " 'tag", " tag", " ' ", "'", "\t", "  'a "))
        prefix = self.rng.choice(
            ("", "", "", "", "", " ", "prefix\t", "\t", "p q\t ") + (() if self.fair else ("a\tb\t",))
        )
        spaces = "".join(self.vw_namespace() for _ in range(self.rng.choice((1, 1, 1, 2, 3))))
        return prefix + " ".join(head) + tag + ("" if self.amiss(0.03) else spaces)

    def plain_number(self) -> str:
        draw, digits = self.rng.random(), self.rng.randrange(18)
        written = str(int(draw * 10**digits)) if draw < 0.3 else f"{draw * 10 ** self.rng.randrange(10):.{digits}f}"
        return self.rng.choice(("1", "0", "-2", "0.5", ".25", "7.", written, f"-{written}"))

    def plain_line(self, form: str) -> str:
        """A line such as most files have nothing but, rarely one that is very long."""
        width = self.rng.randrange(10) if self.rng.random() < 0.9996 else self.rng.randrange(300, 3000)
        spread = self.rng.choice((3, 30, 1000, 1 << 20))
        label = self.rng.choice(self.labels)
        if form == "svmlight":
            return label + "".join(f" {self.rng.randrange(1, spread)}:{self.plain_number()}" for _ in range(width))
        line = f"{label} |{self.rng.choice(('', 'f', 'user'))}"
        for _ in range(width):
            line += self.rng.choice((" ", " ", " ", " ", " ", " |f ")) + self.rng.choice(
                ("", "a", "age", "color=", "a_longer_name")
            )
            line += str(self.rng.randrange(spread)) + self.rng.choice(("", f":{self.plain_number()}"))
        return line

    def file(self, form: str) -> bytes:
        line = self.svmlight_line if form == "svmlight" else self.vw_line
        usual = [("\n",), ("\n",), ("\r\n",), ("\n", "\n\n", "\n \r\n")]
        ends = self.rng.choice(usual if self.fair else [*usual, ("\n", "\r\r\n", "\n\r\r\n")])
        lines = self.rng.randrange(1, 6) if self.rng.random() > 0.002 else self.rng.randrange(100, 400)
        plain = self.rng.choice((0.0, 0.5, 0.95))
        return "".join(
            (self.plain_line(form) if self.rng.random() < plain else line()) + self.rng.choice(ends)
            for _ in range(lines)
        ).encode()

    def plain_file(self, form: str) -> bytes:
        return "".join(self.plain_line(form) + "\n" for _ in range(self.rng.randrange(1, 9))).encode()


def _mutated(rng: Random, text: bytes, other: bytes) -> bytes:
    """A text after a few accidents."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        i, j = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        kind = rng.randrange(8)
        if kind == 0:  # a bit flips
            text = text[:i] + bytes(c ^ 1 << rng.randrange(8) for c in text[i : i + 1]) + text[i + 1 :]
        elif kind in (1, 2):  # something comes in
            text = text[:i] + rng.choice((*_LETTERS, *_WORDS, rng.randbytes(1))) + text[i:]
        elif kind == 3:  # a byte goes
            text = text[:i] + text[i + 1 :]
        elif kind == 4:  # a stretch goes
            text = text[:i] + text[min(j, i + 20) :]
        elif kind == 5:  # a stretch comes twice
            text = text[:j] + text[i:j][:200] + text[j:]
        elif kind == 6:  # the end is missing
            text = text[:j]
        else:  # the end of another text
            text = text[:i] + other[j % (len(other) + 1) :]
    return text


def inputs(seed: int, count: int | None = None) -> Iterator[Input]:
    """So many inputs, or inputs without end."""
    rng, made, other = Random(seed), 0, b""  # noqa: S311
    while count is None or made < count:
        form = rng.choice(("svmlight", "vw"))
        labels = rng.choice((None, None, None, ("2", "5"), ("-1.5", "1e3"), ("1", "-1"), ("0", "1")))
        writer = _Writer(rng, labels or ("1", "-1", "0", "+1", "1.0", "-0"), fair=rng.random() < 0.6)
        kind = rng.random()
        if kind < 0.05:
            text = rng.randbytes(rng.randrange(120))
        elif kind < 0.2:
            text = b"".join(rng.choices(_LETTERS + (_WORDS if kind < 0.1 else []), k=rng.randrange(80)))
        else:
            text = writer.file(form)
            text, other = text if kind < 0.7 else _mutated(rng, text, other), text
        bits = (
            rng.choice((None, None, 1, 2, 5, 18, 22, 30)) if form == "svmlight" else rng.choice((1, 3, 10, 18, 24, 30))
        )
        features = rng.choice((None, None, None, 3, 1000)) if bits is None else None
        text = text if text.endswith(b"\n") else text + b"\n"
        if rng.random() < 0.5:  # a parser that reads many bytes at once may go astray only far from the end
            text += writer.plain_file(form)
        yield Input(text, form, bits, features, labels, rng.random() < 0.7, form == "vw" and rng.random() < 0.7)
        made += 1
