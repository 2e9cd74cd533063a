"""One lock per learner: several threads may use it, and no round is lost."""

from threading import RLock
from typing import Any

__all__ = ["Guarded"]


class Guarded:
    """An object with a lock of its own, `_lock`, that pickles, copies and compares as if it had none.

    Whatever changes what the object remembers holds the lock while it does. A method that holds it may call another
    one that takes it.

    >>> import copy
    >>> class Counter(Guarded):
    ...     count = 0
    >>> copy.deepcopy(Counter()).__dict__.keys()
    dict_keys(['_lock'])
    """

    _lock: Any

    def __new__(cls, *_: Any, **__: Any) -> "Any":
        """An object and its lock; copies and unpickled objects are made here, too, and get a lock of their own."""
        made = super().__new__(cls)
        made._lock = RLock()
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
