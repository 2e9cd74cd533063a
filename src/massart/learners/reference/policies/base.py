"""The protocol of policies, and what they share: checked contexts, masks, choices and rewards, pending choices."""

from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any, Final, NamedTuple, Protocol, Self, runtime_checkable
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError, shown
from massart.kernels.forms import check_mask
from massart.kernels.ranking_door import check_arms
from massart.learners.base import Stateful
from massart.learners.choice import Choice, Played, Signer, begin_epoch
from massart.learners.locking import Guarded
from massart.options import check_reward, check_reward_range

__all__ = ["BasePolicy", "Drawn", "Policy"]

LARGEST: Final = 1e6  # of a feature: squares of more swamp the ridge's 1 in double precision


@runtime_checkable
class Policy(Stateful, Protocol):
    """Choose one of k arms, each described by a row of `contexts`; learn from the reward when it comes.

    The number of arms may change from choice to choice, the number of features may not. Rewards lie in the
    `reward_range` the policy was made for.
    """

    def choose(self, contexts: Any, allowed: ArrayLike | None = None) -> Choice:
        """Draw one of the arms, of those that are allowed if a mask (k,) says which."""

    def probabilities(self, contexts: Any, allowed: ArrayLike | None = None) -> NDArray[np.float64]:
        """(k,) with which the next `choose` would play each arm; nothing is drawn and nothing changes."""

    def learn(self, choice: Choice, reward: float) -> None:
        """Learn the reward of a choice, at any time after it and in any order; each choice at most once."""

    def play(self, contexts: Any, rewards: Any) -> Played:
        """Choose and learn in n rounds, contexts (n, k, d) and the rewards (n, k) of all arms being known.

        The same bits as `choose` and `learn` round by round; of each row of rewards only the played arm's is looked at.
        """


class Drawn(NamedTuple):
    """One decision, before it becomes a Choice."""

    arm: int
    greedy: int
    memo: dict[str, Any]


def checked_contexts(contexts: Any, width: int, dimensions: int = 2) -> NDArray[np.float64]:
    """A fresh (k, d) or (n, k, d) array of finite numbers that kernels take; anything else raises an error.

    >>> checked_contexts([[1, 2], [3, 4]], width=2).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    >>> checked_contexts([], width=2)
    Traceback (most recent call last):
    massart.errors.InvalidDataError: contexts has shape (0,): give one row of 2 features per arm, at least one arm
    """
    try:
        check_mask(contexts, "contexts")
        found = np.asarray(check_arms(contexts).contexts.toarray() if sparse.issparse(contexts) else contexts)
        if found.dtype.kind not in "fiub":
            raise InvalidDataError(f"contexts is an array of {found.dtype}: give real numbers")
        rows = np.array(found, dtype=np.float64, order="C")
    except InvalidDataError:
        raise
    except Exception as error:  # whatever an object says when it is asked for its numbers
        raise InvalidDataError(f"contexts must be real numbers, as many for every arm: {error}") from None
    if rows.ndim != dimensions or rows.shape[-1] != width or rows.shape[-2] == 0:
        each = "per arm, at least one arm" if dimensions == 2 else "per round and arm, at least one arm"
        raise InvalidDataError(f"contexts has shape {rows.shape}: give one row of {width} features {each}")
    if rows.size and not np.abs(rows).max() <= LARGEST:
        place = tuple(int(i) for i in np.argwhere(~(np.abs(rows) <= LARGEST))[0])
        raise InvalidDataError(
            f"contexts{list(place)} is {rows[place]}: features must be finite and at most {LARGEST:g} in size; "
            "fill what is missing, and divide large columns by their typical size"
        )
    rows.flags.writeable = False
    return rows


def checked_mask(allowed: ArrayLike | None, arms: int) -> NDArray[np.bool_]:
    """(k,) which arms may be played; None is all.

    >>> checked_mask([False, False], arms=2)
    Traceback (most recent call last):
    massart.errors.InvalidDataError: allowed allows none of the 2 arms: let at least one be True
    """
    if allowed is None:
        return np.ones(arms, np.bool_)
    try:
        mask = np.array(allowed)
    except Exception as error:
        raise InvalidDataError(f"allowed must be {arms} booleans, one per arm: {error}") from None
    if mask.dtype != np.bool_ or mask.shape != (arms,):
        raise InvalidDataError(
            f"allowed is an array of {mask.dtype} of shape {mask.shape}: give {arms} booleans, one per arm"
        )
    if not mask.any():
        raise InvalidDataError(f"allowed allows none of the {arms} arms: let at least one be True")
    return mask


class BasePolicy(Guarded, ABC):
    """The protocol `Policy` but for the model of the rewards: a subclass draws, learns and saves its state.

    Several threads may use one policy. Choices have an identity and a digest, as those of `MonotoneBandit`; the key
    lives as long as the policy and its copies.

    Parameters
    ----------
    dimension : features of an arm.
    reward_range : the least and the largest reward there can be.
    """

    _dimension: int
    _range: tuple[float, float]
    _identity: str
    _pending: dict[int, int]  # numbers of the choices not yet learned, and their epochs
    _epoch: int
    _signer: Signer

    def _begin(self, dimension: int, reward_range: tuple[float, float], identity: str | None = None) -> None:
        given: Any = dimension
        if not isinstance(given, Integral) or int(given) < 1:
            raise InvalidParameterError(
                f"dimension={shown(dimension)}: give the number of features of an arm, 1 or more"
            )
        self._dimension, self._range = int(dimension), check_reward_range(reward_range)
        self._identity = identity or uuid4().hex  # distinguishes choices; no decision depends on it
        self._pending, self._signer = {}, Signer()
        begin_epoch(self)

    def _drawn_anew(self) -> None:
        """In a forked process: draws go on as they were, for these policies are for simulations."""

    @abstractmethod
    def _fill(self, X: NDArray[np.float64], allowed: NDArray[np.bool_], p: NDArray[np.float64]) -> int:
        """Fill in the probabilities of the next choice; return the greedy arm. Nothing changes."""

    @abstractmethod
    def _draw(self, X: NDArray[np.float64], allowed: NDArray[np.bool_], p: NDArray[np.float64]) -> Drawn:
        """Fill in the probabilities, draw an arm and count the choice."""

    @abstractmethod
    def _absorb(self, choice: Choice, reward: float) -> None:
        """Learn a checked reward."""

    @abstractmethod
    def _play(self, contexts: NDArray[np.float64], rewards: NDArray[np.float64], played: Played) -> None:
        """Choose and learn in checked rounds; fill in what was played."""

    @abstractmethod
    def _memory(self) -> dict[str, NDArray[Any]]:
        """Its state but for what all policies have."""

    @classmethod
    @abstractmethod
    def _restore(cls, arrays: dict[str, NDArray[Any]], reward_range: tuple[float, float], identity: str) -> Self:
        """The policy with this memory and identity."""

    @property
    @abstractmethod
    def weights(self) -> NDArray[np.float64]:
        """(d,) the linear score of an arm; a copy."""

    @property
    @abstractmethod
    def choices(self) -> int:
        """Choices made."""

    @property
    def pending(self) -> int:
        """Choices that wait for their reward."""
        return len(self._pending)

    def probabilities(self, contexts: Any, allowed: ArrayLike | None = None) -> NDArray[np.float64]:
        """(k,) with which the next `choose` would play each arm; nothing is drawn and nothing changes."""
        X = checked_contexts(contexts, self._dimension)
        p = np.empty(X.shape[0])
        with self._lock:
            self._fill(X, checked_mask(allowed, X.shape[0]), p)
        return p

    def choose(self, contexts: Any, allowed: ArrayLike | None = None) -> Choice:
        """Draw one of the arms, of those that are allowed if a mask (k,) says which."""
        X = checked_contexts(contexts, self._dimension)
        mask, p = checked_mask(allowed, X.shape[0]), np.empty(X.shape[0])
        with self._lock:
            number = self.choices
            arm, greedy, memo = self._draw(X, mask, p)
            self._pending[number] = self._epoch
            p.flags.writeable = False
            return Choice(arm, p, greedy, X, self._identity, number, memo, self._epoch).signed_by(self._signer)

    def learn(self, choice: Choice, reward: float) -> None:
        """Learn the reward of a choice, at any time after it and in any order; each choice at most once."""
        with self._lock:
            self._check(choice)
            self._absorb(choice, self._checked_reward(reward))
            del self._pending[choice.number]

    def _check(self, choice: Choice) -> None:
        """Raise an error unless it is a pending choice, unchanged."""
        if not isinstance(choice, Choice):
            raise InvalidDataError(f"choice is a {type(choice).__name__}: pass what choose returned")
        if choice.policy != self._identity:
            raise InvalidDataError("choice was made by another policy: pass it to the one that made it, or to a copy")
        if self._pending.get(choice.number) != choice.epoch:
            state = "has been learned already" if 0 <= choice.number < self.choices else "has not been made yet"
            state = "was made by another copy" if choice.number in self._pending else state
            raise InvalidDataError(
                f"choice number {shown(choice.number)} {state}: pass each choice once, to the policy that made it"
            )
        if not choice.is_signed_by(self._signer):
            raise InvalidDataError(
                "choice.digest is not that of this choice: pass it unchanged, to a policy with its key"
            )
        X, p = choice.contexts, choice.probabilities
        ours = choice.stayed_with(self._signer) and X.shape == (p.size, self._dimension)
        if ours and not X.flags.writeable and not p.flags.writeable:
            return
        arms, p = checked_contexts(choice.contexts, self._dimension).shape[0], choice.probabilities
        # Kernels look these up without asking again; a choice may have come from a file.
        consistent = p.shape == (arms,) and 0 <= choice.arm < arms and p[choice.arm] > 0.0 and np.isfinite(p).all()
        if not consistent:
            raise InvalidDataError(
                f"choice has {arms} contexts, {p.size} probabilities and arm {choice.arm}, which do not fit together: "
                "pass what choose returned"
            )

    def _checked_reward(self, reward: float) -> float:
        return check_reward(reward, *self._range, clip=False)

    def play(self, contexts: Any, rewards: Any) -> Played:
        """Choose and learn in n rounds, contexts (n, k, d) and the rewards (n, k) of all arms being known."""
        X = checked_contexts(contexts, self._dimension, dimensions=3)
        try:
            table = np.array(rewards, dtype=np.float64, order="C")
        except Exception as error:
            raise InvalidDataError(f"rewards must be real numbers, one per round and arm: {error}") from None
        (low, high), rounds = self._range, X.shape[0]
        if table.shape != X.shape[:2]:
            raise InvalidDataError(f"rewards has shape {table.shape}: give {X.shape[:2]}, one per round and arm")
        if not ((table >= low) & (table <= high)).all():
            raise InvalidDataError(f"rewards holds a number outside reward_range, from {low} to {high}")
        table.flags.writeable = False
        played = Played(np.empty(rounds, np.int64), np.empty(rounds))
        with self._lock:
            self._play(X, table, played)
        return played

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of its state; `from_arrays` restores it bit for bit."""
        with self._lock:
            return {
                "identity": np.frombuffer(self._identity.encode(), np.uint8),
                "reward_range": np.array(self._range),
                "pending": np.array(list(self._pending), np.int64),
                "pending_epochs": np.array(list(self._pending.values()), np.uint64),
                **{name: array.copy() for name, array in self._memory().items()},
            }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """A policy that learns and draws as the one whose `arrays()` these are, with an epoch and a key of its own."""
        try:
            low, high = arrays["reward_range"].tolist()
            policy = cls._restore(arrays, (low, high), arrays["identity"].tobytes().decode())
            numbers, epochs = arrays["pending"].tolist(), arrays["pending_epochs"].tolist()
            policy._pending = dict(zip(numbers, epochs, strict=True))
        except (KeyError, AttributeError, TypeError, ValueError, IndexError) as error:
            raise ModelFileError(f"these are not the arrays of a {cls.__name__}: {error}") from None
        return policy

    def copy(self) -> Self:
        """An independent policy in the same state, which may learn the choices that wait, too."""
        policy = self.from_arrays(self.arrays())
        policy._signer = self._signer
        return policy

    def sign_with(self, key: bytes | None) -> None:
        """Sign choices by this key of 32 bytes from here on; None: by a new one."""
        self._signer = Signer(key)

    @property
    def key(self) -> bytes:
        """What signs choices: whoever has it can make choices that this policy learns from."""
        return self._signer.key

    def __getstate__(self) -> dict[str, Any]:
        return {"arrays": self.arrays(), "key": self._signer.key}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy, here or in another process: a new epoch, the same key."""
        made = type(self).from_arrays(state["arrays"])
        self.__dict__.update({name: value for name, value in made.__dict__.items() if name != "_lock"})
        self._signer = Signer(state["key"])
