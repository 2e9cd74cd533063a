"""One lock per learner: several threads may use it, and no round is lost."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from threading import Lock, RLock
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["Guarded", "lock_of", "locked"]

_Owner = TypeVar("_Owner", bound="Guarded")
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def locked(
    method: Callable[Concatenate[_Owner, _Arguments], _Result],
) -> Callable[Concatenate[_Owner, _Arguments], _Result]:
    """A method that holds its object's lock from beginning to end."""

    @wraps(method)
    def holding(self: _Owner, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with self._lock:
            return method(self, *args, **kwargs)

    return holding


_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_LOCKS_LOCK = Lock()


def lock_of(owner: Any) -> AbstractContextManager[Any]:
    """The lock of an object that cannot keep one itself, such as an estimator, whose attributes are looked at."""
    with _LOCKS_LOCK:
        found: AbstractContextManager[Any] = _LOCKS.setdefault(owner, RLock())
        return found


class Guarded:
    """An object with a lock of its own, `_lock`, that pickles, copies and compares as if it had none.

    A method that changes the object's state holds the lock while it does, and may call another one that takes it.

    >>> import copy
    >>> class Counter(Guarded):
    ...     count = 0
    >>> copy.deepcopy(Counter()).__dict__.keys()
    dict_keys(['_lock'])
    """

    _lock: Any

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """An object and its lock; copies and unpickled objects are made here, too, and get a lock of their own."""
        made = super().__new__(cls)
        made._lock = RLock()
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
