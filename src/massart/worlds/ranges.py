"""Parameters out of a world's range raise an error with the range and the reason."""

import math
import operator

from massart.errors import InvalidParameterError

__all__ = ["whole_number", "within"]


def within(
    world: str, parameter: str, value: float, low: float, high: float, *, ends: str = "[]", why: str = ""
) -> float:
    """Return `value` as a float when it lies between `low` and `high`; `ends` says which ends belong.

    >>> within("kink", "margin", 0.03, 0.0, 0.05, ends="(]")
    0.03
    >>> within("kink", "margin", 0.3, 0.0, 0.05, ends="(]", why="its point G lies 0.05 from the boundary")
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: the world 'kink' needs margin in (0, 0.05], got 0.3:
    its point G lies 0.05 from the boundary
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    above = number >= low if ends[0] == "[" else number > low
    below = number <= high if ends[1] == "]" else number < high
    if not (above and below) or isinstance(value, bool):
        reason = f": {why}" if why else ""
        span = f"{ends[0]}{low:g}, {high:g}{ends[1]}"
        raise InvalidParameterError(f"the world {world!r} needs {parameter} in {span}, got {value!r}{reason}")
    return number


def whole_number(world: str, parameter: str, value: int, *, least: int) -> int:
    """Return `value` as an int when it is a whole number, at least `least`.

    >>> whole_number("kink", "dimension", 1, least=2)
    Traceback (most recent call last):
    massart.errors.InvalidParameterError: the world 'kink' needs dimension to be a whole number,
    at least 2, got 1
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise InvalidParameterError(
            f"the world {world!r} needs {parameter} to be a whole number, at least {least}, got {value!r}"
        )
    return number
