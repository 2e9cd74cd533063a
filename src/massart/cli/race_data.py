"""The options of `massart race` that make worlds of labelled files."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from massart.cli.parameters import Option
from massart.cli.reading_options import FORMATS, asked_reading
from massart.errors import InvalidParameterError

if TYPE_CHECKING:
    from massart.worlds import DataSet

Data = Annotated[
    list[str] | None,
    Option(
        "--data",
        metavar="FILE",
        help="A labelled file to race on, once for each: rows of two classes, or with --bandit rows of up to 100, "
        "which become rounds with arms.",
    ),
]
Conversion = Annotated[
    list[str] | None,
    Option(
        metavar="NAME",
        help="What rows become with --bandit, once for each or with commas. Classes as arms: clean (if none is named), "
        "noisy, drifting-level, level-by-context. Rows as arms: items, simpson-items. Or all.",
    ),
]
Raw = Annotated[
    bool,
    Option("--raw", help="Columns as they are in the file, not standardised and without a constant; not of items."),
]
Arms = Annotated[int | None, Option(min=2, help="Of a round of items.  \\[default: 5]", show_default=False)]
Noise = Annotated[
    str | None,
    Option(
        metavar="KIND",
        help="Which labels of --data are flipped: uniform, near-boundary or far-from-boundary.  \\[default: uniform]",
        show_default=False,
    ),
]
NoiseRate = Annotated[
    float | None,
    Option(help="At most so often, below 0.5; not with --bandit.  \\[default: 0]", show_default=False),
]
Bits = Annotated[
    int | None,
    Option(
        "--bits", "-b", help="Hash features to 2**BITS columns; 24 where hashing is needed. Zero columns are dropped."
    ),
]
Format = Annotated[str | None, Option("--format", help=f"Of the data: auto, {FORMATS}.", show_default=False)]

_OF_LABELS: Final = ("noise", "noise_rate")
_OF_REWARDS: Final = ("conversion", "arms")
FLAGS: Final = {"bits": "--bits", "bandit": "--bandit"}


class DataOptions(NamedTuple):
    """What was typed about data files."""

    data: Sequence[str]
    conversion: Sequence[str]
    raw: bool
    arms: int | None
    noise: str | None
    noise_rate: float | None
    label: str | None
    ignore: Sequence[str] | None
    categorical: Sequence[str] | None
    data_format: str | None
    bits: int | None

    def check(self, bandit: bool) -> None:
        """Refuse what says something about no data, or about the other kind of race."""
        given = [name for name in self._fields[1:] if getattr(self, name)]
        if given and not self.data:
            raise InvalidParameterError(f"{_flag(given[0])} says how a data file is raced on: name one with --data")
        wrong = [name for name in given if name in (_OF_LABELS if bandit else _OF_REWARDS)]
        if wrong and bandit:
            raise InvalidParameterError(
                f"{_flag(wrong[0])} is about labels, and --bandit races with rewards: use --conversion noisy, or leave "
                "--bandit out"
            )
        if wrong:
            raise InvalidParameterError(f"{_flag(wrong[0])} is about rounds with arms: race policies, with --bandit")

    def worlds(self, bandit: bool) -> list["DataSet"]:
        """A world for each file and conversion; files are read here, once."""
        from massart.data.labelled import read_labelled
        from massart.worlds import DataSet
        from massart.worlds.data_sets import LABELS

        conversions = self._conversions() if bandit else [LABELS]
        options: dict[str, Any] = {"raw": self.raw, "arms": self.arms, "noise": self.noise}
        options["noise_rate"] = self.noise_rate
        chosen = {name: value for name, value in options.items() if value is not None}
        how = asked_reading(
            self.data_format or "auto", None, self.ignore, self.categorical, None, None, None, label=self.label,
            bits=self.bits,
        )  # fmt: skip
        del how["labels"]
        made = []
        for path in self.data:
            rows = read_labelled(path, **how)
            made += [DataSet(_name(path), *rows, name, **chosen) for name in conversions]
        return made

    def _conversions(self) -> list[str]:
        from massart.worlds.data_sets import REWARD_CONVERSIONS

        words = [
            word.strip() for several in self.conversion or ["clean"] for word in several.split(",") if word.strip()
        ]
        found = list(dict.fromkeys(one for word in words for one in (REWARD_CONVERSIONS if word == "all" else [word])))
        for name in found:
            if name not in REWARD_CONVERSIONS:
                raise InvalidParameterError(
                    f"there is no conversion {name!r}: choose of {', '.join(REWARD_CONVERSIONS)}, or all"
                )
        return found

    def words(self) -> list[str]:
        """The options as they are typed."""
        typed: list[str] = []
        for name in self._fields:
            value = getattr(self, name)
            if value is True:
                typed.append(_flag(name))
            elif value:
                for one in value if isinstance(value, list | tuple) else [value]:
                    typed += [_flag(name), str(one)]
        return typed


def _flag(name: str) -> str:
    return "--format" if name == "data_format" else f"--{name.replace('_', '-')}"


def _name(path: str) -> str:
    """The name of a file without its suffixes.

    >>> _name("data/vehicle.csv.gz")
    'vehicle'
    """
    return PurePath(path).name.split(".")[0] or path
