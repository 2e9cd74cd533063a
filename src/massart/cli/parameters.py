"""The parameters of commands, declared without Typer: to import it takes longer than a small training.

A command is a function whose parameters are annotated as `Annotated[type, Option(...)]`, in Typer's words. `understood`
reads an ordinary command line by itself; help, mistakes and whatever is unusual are left to Typer, for which
`massart.cli.app` translates the declarations.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

__all__ = ["Argument", "Command", "Declared", "Option", "understood"]

Command = Callable[..., None]
_PLAIN = {"help", "metavar", "show_default", "min", "parser"}  # settings that leave an ordinary value as it is
_WHOLE = re.compile(r"[0-9]{1,15}")
_NUMBER = re.compile(r"(?:[0-9]{1,15}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})(?:[eE][+-]?[0-9]{1,2})?")


class Declared(NamedTuple):
    """What stands in the annotation of a parameter: how it is written, and the keywords of Typer's function."""

    is_option: bool
    flags: tuple[str, ...]
    settings: dict[str, Any]


class _Parameter(NamedTuple):
    name: str
    kind: Any  # str, int, float, bool or Path; of another one no value is understood
    many: bool
    declared: Declared

    @property
    def flags(self) -> tuple[str, ...]:
        return self.declared.flags or (f"--{self.name.replace('_', '-')}",)

    def value(self, text: str) -> Any:
        """What a word means, None if it is none that everybody reads in the same way."""
        settings = self.declared.settings
        if (parser := settings.get("parser")) is not None:
            return parser(text) if _WHOLE.fullmatch(text) else None
        if self.kind is int or self.kind is float:
            if not (_WHOLE if self.kind is int else _NUMBER).fullmatch(text):
                return None
            number = self.kind(text)
            return None if number < settings.get("min", number) else number
        return self.kind(text) if self.kind in (str, Path) else None


def Option(*flags: str, **settings: Any) -> Declared:
    """An option of a command; without flags its name is that of the parameter."""
    return Declared(True, flags, settings)


def Argument(**settings: Any) -> Declared:
    """A word of the command line that is no option."""
    return Declared(False, (), settings)


def understood(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments with which Typer would call a command; None where it is for Typer to say what is meant.

    >>> from typing import Annotated
    >>> def show(path: Annotated[Path, Argument()], top: Annotated[int, Option("--top", "-n", min=1)] = 10) -> None: ...
    >>> understood(show, ["-n", "3", "a.txt"])
    {'path': PosixPath('a.txt'), 'top': 3}
    >>> understood(show, ["a.txt", "--help"]), understood(show, ["a.txt", "--top=few"]), understood(show, [])
    (None, None, None)
    """
    parameters = _parameters(command)
    if parameters is None:
        return None
    options = {flag: one for one in parameters if one.declared.is_option for flag in one.flags}
    given: dict[str, Any] = {}
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-" or (word and not word.startswith("-")):
            others.append(word)
            continue
        flag, equals, text = word.partition("=")
        option = options.get(flag)
        if option is None or (equals and (option.kind is bool or not flag.startswith("--"))):
            return None
        if option.kind is not bool and not equals:
            text = next(rest, "")
        if not _take(option, [text], given):
            return None
    places = [one for one in parameters if not one.declared.is_option]
    for place in places:
        taken, others = (others, []) if place.many else (others[:1], others[1:])
        if taken and not _take(place, taken, given):
            return None
    return None if others else _complete(command, parameters, given)


def _take(parameter: _Parameter, texts: Sequence[str], given: dict[str, Any]) -> bool:
    """Add the values of a parameter to what is given, if all are understood and one is not given twice."""
    if parameter.kind is bool:
        values: list[Any] = [True]
    else:
        values = [parameter.value(text) if text else None for text in texts]
    if None in values or (parameter.name in given and not parameter.many):
        return False
    given[parameter.name] = [*given.get(parameter.name, []), *values] if parameter.many else values[0]
    return True


def _complete(command: Command, parameters: Sequence[_Parameter], given: dict[str, Any]) -> dict[str, Any] | None:
    """With the defaults of what is not given, in the order of the command; None if something is missing."""
    names = [one.name for one in parameters]
    defaults: tuple[Any, ...] = getattr(command, "__defaults__", None) or ()
    known = {**dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)), **given}
    return {name: known[name] for name in names} if len(known) == len(names) else None


def _parameters(command: Command) -> list[_Parameter] | None:
    """Those of a command; None if the value of one may be another than what is typed, or its default."""
    found = []
    for name, annotation in command.__annotations__.items():
        if name == "return":
            continue
        kind, *about = get_args(annotation) or (annotation,)
        declared = next((one for one in about if isinstance(one, Declared)), None)
        if declared is None or not set(declared.settings) <= _PLAIN:
            return None
        if (
            len(others := [one for one in get_args(kind) if one is not type(None)]) == 1
            and get_origin(kind) is not list
        ):
            (kind,) = others  # of "kind or None"
        many = get_origin(kind) is list
        kind = get_args(kind)[0] if many else kind
        if kind is bool and not declared.flags:  # Typer adds a flag that says no
            return None
        found.append(_Parameter(name, kind, many, declared))
    return found
