"""A decision and all that learning from it needs, so that the reward may come late, elsewhere, and out of order."""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple, NoReturn
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from massart.data.offers import Offer
from massart.errors import InvalidDataError, InvalidParameterError
from massart.kernels.learning.ranking_rounds import GREEDY
from massart.kernels.ranking_door import CheckedRound
from massart.learners.certificate import facts_html
from massart.learners.choice_json import (
    Contexts,
    contexts_from_json,
    contexts_sha256,
    contexts_to_json,
    memo_bytes,
    memo_from_json,
    memo_to_json,
    refuse_constant,
)

__all__ = ["Choice", "Contexts", "Played", "Signer", "begin_epoch"]

_FORMAT = 2


_LIVING: WeakSet[Any] = WeakSet()  # policies that make choices in this process


def begin_epoch(policy: Any) -> None:
    """Give a policy 64 random bits, `_epoch`, which set its choices apart from those of its copies.

    Those in a process that is forked later are copies, too: there it gets others, and `_drawn_anew` is called.
    """
    policy._epoch = secrets.randbits(64)
    _LIVING.add(policy)


def _forked() -> None:
    for policy in tuple(_LIVING):
        policy._epoch = secrets.randbits(64)
        policy._drawn_anew()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_forked)


class Played(NamedTuple):
    """What a policy did in n rounds of a simulation.

    >>> played = Played(np.array([1]), np.array([0.95]))
    >>> played.arms.tolist(), played.probabilities.tolist()
    ([1], [0.95])
    """

    arms: NDArray[np.int64]  # (n,) the arm played
    probabilities: NDArray[np.float64]  # (n,) with which that arm was played


class Choice:
    """What a policy chose, with which probability, and from what. Nothing in it can be changed.

    Parameters
    ----------
    arm : int
        Number of the chosen arm, a row of `contexts`.
    probabilities : ndarray of shape (k,)
        Probability with which each arm could have been chosen; they add up to 1 and were really used.
    greedy : int
        The most probable arm of the policy.
    contexts : array or CSR matrix of shape (k, d)
        One row per arm.
    policy : str
        Identity of the policy that chose, 32 hexadecimal digits; only that policy, or a copy of it, may learn from the
        choice.
    number : int
        How many choices it had made before.
    memo : mapping, default=None
        What the policy needs to learn from the choice: numbers, lists and arrays.
    epoch : int, default=0
        64 random bits, drawn when the policy was made, loaded or copied.
    digest : str, default=""
        Keyed digest of all this, which the policy that learns compares.
    ids : tuple, default=None
        What the arms are called, if they have ids.

    Examples
    --------
    >>> choice = Choice(1, np.array([0.1, 0.9]), 1, np.eye(2), policy="p", number=7)
    >>> again = Choice.from_json(choice.to_json())
    >>> again.arm, again.probability, again.number, bool((again.contexts == np.eye(2)).all())
    (1, 0.9, 7, True)
    >>> Choice.from_json(choice.to_json(contexts=False), contexts=np.eye(2)).identity == choice.identity
    True
    """

    __slots__ = ("_arm", "_contexts", "_digest", "_epoch", "_greedy", "_ids", "_made", "_memo", "_number", "_offer",
                 "_policy", "_probabilities", "_signer")  # fmt: skip

    def __init__(
        self,
        arm: int,
        probabilities: NDArray[np.float64],
        greedy: int,
        contexts: Contexts,
        policy: str,
        number: int,
        memo: Mapping[str, Any] | None = None,
        epoch: int = 0,
        digest: str = "",
        ids: tuple[str | int, ...] | None = None,
    ) -> None:
        self._arm, self._greedy = _whole("arm", arm), _whole("greedy", greedy)
        self._number, self._epoch = _whole("number", number), _whole("epoch", epoch)
        if not isinstance(policy, str) or not isinstance(digest, str):
            raise InvalidDataError("choice.policy and choice.digest must be text: pass what choose returned")
        if memo is not None and not isinstance(memo, Mapping):
            raise InvalidDataError(f"choice.memo is a {type(memo).__name__}: pass what choose returned")
        if not (type(probabilities) is np.ndarray and probabilities.dtype == np.float64 and probabilities.ndim == 1):
            probabilities = _probabilities(probabilities)
        self._probabilities: Any = probabilities
        self._contexts = contexts
        self._policy, self._digest = policy, digest
        self._memo: Any = {} if memo is None else memo
        self._made: CheckedRound | None = None
        self._signer: Signer | None = None
        self._offer: Offer | None = None
        self._ids = None if ids is None else _checked_ids(ids, len(probabilities))

    def __getattr__(self, name: str) -> NoReturn:
        """For what is not there: somebody made the object without its parts."""
        if name in Choice.__slots__:
            raise InvalidDataError("choice is empty: pass what choose returned")
        raise AttributeError(f"'Choice' object has no attribute {name!r}")

    @classmethod
    def of_round(
        cls, arm: int, made: CheckedRound, policy: str, epoch: int, number: int, signer: "Signer",
        offer: Offer | None = None,
    ) -> "Choice":  # fmt: skip
        """The choice of a round that the policy keeps to itself; all else is computed when it is asked for."""
        choice = object.__new__(cls)
        choice._arm, choice._policy, choice._epoch, choice._number = arm, policy, epoch, number
        choice._made, choice._signer, choice._digest = made, signer, ""
        choice._probabilities = choice._memo = None
        choice._offer, choice._ids = offer, None if offer is None else offer.ids
        return choice

    def signed_by(self, signer: "Signer") -> "Choice":
        """The choice itself, which the owner of the signer has just made."""
        self._signer = signer
        return self

    def stayed_with(self, signer: "Signer") -> bool:
        """Whether it never left the process of the signer's owner."""
        return self._signer is signer

    def is_signed_by(self, signer: "Signer") -> bool:
        """Whether it never left the process of the signer's owner, or came back with the right digest."""
        return self._signer is signer or signer.accepts(self)

    def round_by(self, signer: "Signer") -> CheckedRound | None:
        """What the policy with this very signer kept, if it made the choice and the choice never left the process."""
        return self._made if self._signer is signer and type(self._made) is CheckedRound else None

    @property
    def arm(self) -> int:
        """Number of the chosen arm."""
        return self._arm

    @property
    def arm_id(self) -> str | int | None:
        """The id of the chosen arm; None if arms have no ids."""
        return None if self._ids is None else self._ids[self._arm]

    @property
    def ids(self) -> tuple[str | int, ...] | None:
        """(k,) the ids of the arms; None if they have none."""
        return self._ids

    @property
    def offer(self) -> Offer | None:
        """The arms as they were given, with the names of their features; None for rows, and for a choice from JSON."""
        return self._offer

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(k,) with which each arm could have been chosen."""
        if self._probabilities is None and self._made is not None:
            self._probabilities = self._made.probabilities
        return self._probabilities  # type: ignore[no-any-return]

    @property
    def probability(self) -> float:
        """The probability with which the chosen arm was chosen."""
        return float(self.probabilities[self._arm])

    @property
    def greedy(self) -> int:
        """The most probable arm."""
        return self._greedy if self._made is None else int(self._made.block[GREEDY])

    @property
    def contexts(self) -> Contexts:
        """(k, d) array or CSR matrix; of features with names, CSR with their hashed columns."""
        if self._offer is not None:
            return self._offer.matrix()
        return self._contexts if self._made is None else self._made.arms.contexts

    @property
    def policy(self) -> str:
        """Identity of the policy that chose."""
        return self._policy

    @property
    def epoch(self) -> int:
        """64 random bits that the policy drew when it was made, loaded or copied."""
        return self._epoch

    @property
    def number(self) -> int:
        """How many choices the policy had made before."""
        return self._number

    @property
    def memo(self) -> Mapping[str, Any]:
        """What the policy needs to learn from the choice."""
        if self._memo is None and self._made is not None:
            self._memo = self._made.memo()
        return self._memo  # type: ignore[no-any-return]

    @property
    def identity(self) -> str:
        """128 bits in hexadecimal digits, which no other choice has: 16 of the policy, 64 of the epoch, 48 counted."""
        return f"{self._policy[:4]:0<4}{self._epoch & (1 << 64) - 1:016x}{self._number & (1 << 48) - 1:012x}"

    @property
    def digest(self) -> str:
        """64 hexadecimal digits by the policy's key; "" if the policy has none."""
        if not self._digest and self._signer is not None:
            self._digest = self._signer.digest(self)
        return self._digest

    def __repr__(self) -> str:
        return f"Choice(arm={self._arm}, identity={self.identity!r})"

    def _repr_html_(self) -> str:
        """For notebooks."""
        name = f"{self._arm}" if self.arm_id is None else f"{self._arm} ({self.arm_id})"
        facts = [
            ("arm", f"{name}, one of {len(self.probabilities)}; the most probable is {self.greedy}"),
            ("probability", f"{self.probability:.4g}"),
            ("identity", self.identity),
        ]
        return facts_html(facts, "Choice")

    def __reduce__(self) -> Any:
        """Copies and pickles carry the digest, not the key."""
        parts = (self._arm, self.probabilities, self.greedy, self.contexts, self._policy, self._number, self.memo)
        return type(self), (*parts, self._epoch, self.digest, self._ids)

    def to_json(self, *, contexts: bool = True) -> str:
        """One line of JSON; `from_json` gives the same choice back, every number to the bit.

        Without `contexts` the line is short and holds their SHA-256 in place of them.
        """
        fields = {
            "format": _FORMAT,
            "policy": self._policy,
            "epoch": f"{self._epoch:x}",
            "number": self._number,
            "arm": self._arm,
            "greedy": self.greedy,
            "probabilities": self.probabilities.tolist(),
            "contexts": contexts_to_json(self.contexts) if contexts else {"sha256": contexts_sha256(self.contexts)},
            "memo": memo_to_json(self.memo),
            "digest": self.digest,
        }
        return json.dumps(fields if self._ids is None else fields | {"ids": self._ids}, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str, contexts: Contexts = None) -> "Choice":
        """The choice that `to_json` wrote; `contexts` if the line leaves them out."""
        try:
            parts = json.loads(line, parse_constant=refuse_constant)
            if not isinstance(parts, dict):
                raise TypeError(f"it is a {type(parts).__name__}")
            probabilities = np.array(parts["probabilities"], dtype=np.float64)
            probabilities.flags.writeable = False
            arm, greedy, number, memo = parts["arm"], parts["greedy"], parts["number"], memo_from_json(parts["memo"])
            if not all(type(n) is int for n in (arm, greedy, number)) or not isinstance(memo, dict):
                raise TypeError("arm, greedy and number are whole numbers, and memo is an object")
            policy, epoch, digest = parts["policy"], int(parts.get("epoch", "0"), 16), parts.get("digest", "")
            ids = parts.get("ids")
            given = contexts_from_json(parts["contexts"], contexts)
        except KeyError as missing:
            raise InvalidDataError(f"The choice lacks the field {missing}: pass what Choice.to_json wrote") from None
        except InvalidDataError:
            raise
        except Exception as error:  # a forged line can make json and numpy raise almost anything
            raise InvalidDataError(f"This is no choice that Choice.to_json wrote: {error}") from None
        count = given.shape[0]
        if probabilities.shape != (count,) or not 0 <= arm < count or not 0 <= greedy < count:
            raise InvalidDataError(
                f"The choice has {count} contexts, {probabilities.size} probabilities, and an arm or a greedy arm that "
                "does not fit: pass what Choice.to_json wrote"
            )
        return cls(arm, probabilities, greedy, given, policy, number, memo, epoch, digest, ids)


class Signer:
    """Signs choices by a key of 32 bytes (HMAC-SHA256), and tells whether a choice that came back is what was signed.

    >>> signer = Signer(bytes(32))
    >>> choice = Choice(1, np.array([0.1, 0.9]), 1, np.eye(2), policy="p", number=7)
    >>> signed = Choice(1, np.array([0.1, 0.9]), 1, np.eye(2), "p", 7, digest=signer.digest(choice))
    >>> changed = Choice(0, np.array([0.1, 0.9]), 1, np.eye(2), "p", 7, digest=signed.digest)
    >>> signer.accepts(signed), signer.accepts(changed), signer.accepts(choice)
    (True, False, False)
    """

    __slots__ = ("key",)

    def __init__(self, key: bytes | None = None) -> None:
        if key is not None and not (isinstance(key, bytes) and len(key) == 32):
            raise InvalidParameterError("key: give 32 random bytes, as secrets.token_bytes(32) does")
        self.key = secrets.token_bytes(32) if key is None else key

    def digest(self, choice: Choice) -> str:
        """64 hexadecimal digits that depend on everything in the choice."""
        numbers = [_FORMAT, choice.policy, choice.epoch, choice.number, choice.arm, choice.greedy]
        try:
            parts = (
                json.dumps(numbers).encode(),
                np.ascontiguousarray(choice.probabilities, dtype=np.float64).tobytes(),
                contexts_sha256(choice.contexts).encode(),
                memo_bytes(choice.memo),
                *([] if choice.ids is None else [json.dumps(choice.ids).encode()]),
            )
        except InvalidDataError:
            raise
        except Exception as error:  # a memo of somebody else's objects
            raise InvalidDataError(f"This choice cannot be signed ({error}): pass what choose returned") from None
        whole = hmac.new(self.key, digestmod=hashlib.sha256)
        for part in parts:
            whole.update(len(part).to_bytes(8, "little") + part)
        return whole.hexdigest()

    def accepts(self, choice: Choice) -> bool:
        """Whether the digest of a choice is the right one."""
        return hmac.compare_digest(self.digest(choice).encode(), choice.digest.encode(errors="replace"))


def _checked_ids(given: Any, arms: int) -> tuple[str | int, ...]:
    if not isinstance(given, (list, tuple)) or len(given) != arms or not all(type(one) in (str, int) for one in given):
        raise InvalidDataError("choice.ids must be one text or whole number per arm: pass what choose returned")
    return tuple(given)


def _whole(name: str, value: Any) -> int:
    if type(value) is int:
        return value
    if type(value) is bool or not isinstance(value, Integral):
        raise InvalidDataError(
            f"choice.{name} is a {type(value).__name__}, not a whole number: pass what choose returned"
        )
    return int(value)


def _probabilities(given: Any) -> NDArray[np.float64]:
    try:
        array = np.array(given)
        if array.dtype.kind not in "fiub" or array.ndim != 1:
            raise TypeError
        return array.astype(np.float64)
    except Exception:
        raise InvalidDataError(
            "choice.probabilities must be real numbers, one per arm: pass what choose returned"
        ) from None
