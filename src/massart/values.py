"""Classes of named values. They are what `dataclasses.dataclass` makes, and cost next to nothing to define.

A dataclass compiles half a dozen functions when its module is imported, which takes longer than all else in most
modules, and `dataclasses` itself loads the modules that read source code. With a dozen of them that is a tenth of the
time of a small training, so classes that every command loads derive from these instead.
"""

from typing import Any, ClassVar, Self, dataclass_transform

__all__ = ["Record", "Value"]


class _Signature:
    """What `inspect.signature` and `help` show of a class; made when they ask."""

    def __get__(self, instance: Any, owner: "type[_Fields]") -> Any:
        from inspect import Parameter, Signature  # noqa: PLC0415 - nobody but they needs it

        defaults = {name: owner._defaults.get(name, Parameter.empty) for name in owner._fields}
        return Signature(
            [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=value) for name, value in defaults.items()]
        )


class _Fields:
    """Fields are the annotated names of the class, in order; a default that is a dict or list is copied."""

    _fields: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, Any]] = {}
    _fresh: ClassVar[dict[str, Any]] = {}  # of the defaults, those to be copied
    __signature__: ClassVar = _Signature()

    def __init_subclass__(cls) -> None:
        own = cls.__annotations__
        cls._fields = (*cls._fields, *(name for name in own if name not in cls._fields))
        cls._defaults = cls._defaults | {name: vars(cls)[name] for name in own if name in vars(cls)}
        cls._fresh = {name: value for name, value in cls._defaults.items() if isinstance(value, (dict, list))}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        own = vars(self)
        own.update(self._defaults)
        for name, value in self._fresh.items():
            own[name] = value.copy()
        given = dict(zip(self._fields, args, strict=False))
        own.update(given)
        own.update(kwargs)
        if len(args) > len(self._fields) or own.keys() != set(self._fields) or not given.keys().isdisjoint(kwargs):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self._fields)}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check the values."""

    def replace(self, **changes: Any) -> Self:
        """A new one, with other values in some fields."""
        return type(self)(**(self.asdict() | changes))

    def asdict(self) -> dict[str, Any]:
        """Fields and their values; nothing is copied."""
        return {name: getattr(self, name) for name in self._fields}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.asdict().items())})"

    def __eq__(self, other: object) -> bool:
        return self.asdict() == other.asdict() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.asdict().values()))


@dataclass_transform()
class Record(_Fields):
    """Named values that may be set again.

    >>> class Point(Record):
    ...     x: float
    ...     y: float = 0.0
    >>> point = Point(1.0)
    >>> point.y = 2.0
    >>> point, point == Point(1.0, y=2.0), point.replace(x=0.0).asdict()
    (Point(x=1.0, y=2.0), True, {'x': 0.0, 'y': 2.0})
    >>> Point()
    Traceback (most recent call last):
    TypeError: Point takes x, y
    """

    __hash__ = None  # type: ignore[assignment]


@dataclass_transform(frozen_default=True)
class Value(_Fields):
    """Named values that stay what they are.

    >>> class Point(Value):
    ...     x: float
    >>> {Point(1.0), Point(1.0)}
    {Point(x=1.0)}
    >>> Point(1.0).x = 2.0
    Traceback (most recent call last):
    AttributeError: Point does not change: make another one with replace(x=...)
    """

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} does not change: make another one with replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} does not change: {name} stays")
