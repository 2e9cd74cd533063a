"""MonotoneBandit: choose among arms described by feature vectors, learn from the reward of the one that was played."""

import uuid
from math import isfinite
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.kernels import paper_ranking as paper
from massart.kernels import ranking as kernel
from massart.kernels.mixture import coin
from massart.kernels.states import check_arrays
from massart.learners.arms import Arms, check_reward_range, reward_number, too_long
from massart.learners.choice import Choice, Contexts
from massart.learners.lift import LiftCertificate, certify_lift, grown
from massart.learners.rules import UPDATES

# (gap in units of the reward range, margin in units of the longest context) of the experts when neither is known.
GAPS, MARGINS = (0.02, 0.1), (0.1, 0.02)
FINE_GAPS, FINE_MARGINS = (0.01, 0.03, 0.1, 0.3), (0.3, 0.1, 0.03, 0.01)
_OTHERWISE = ", or leave margin=None"


class Played(NamedTuple):
    """What happened in rounds of a simulation."""

    arms: NDArray[np.int64]
    probabilities: NDArray[np.float64]  # of the arms played


class _Memo(dict[str, Any]):
    """What `choose` wrote in this process, and the parts of its choice; any other memo is checked before it teaches."""

    parts: tuple[int, Any, Any]

    def belongs_to(self, choice: Choice) -> bool:
        """Whether nothing of the choice has been replaced."""
        arm, probabilities, contexts = self.parts
        return choice.arm == arm and choice.probabilities is probabilities and choice.contexts is contexts


class MonotoneBandit:
    """Choose arms by a linear score; gap and margin known: E[lift] >= (k-1)/k * gap * T - o(T) (Theorem 11).

    It needs no model of the reward, only that within a round a better score w*.x, ||w*|| <= 1, means a better expected
    reward, by at least `gap` between any two arms with different contexts, at scores at least `margin` apart. Rewards
    may fall across rounds as scores rise. Lift is the reward above that of a uniformly random arm.

    What is proved: with both `gap` and `margin` given, Theorem 11 of docs/theory.md bounds the expected lift from
    below, and Theorem 17 the lift of rewards learned late and of arms with equal contexts (which then must have equal
    expected rewards); `certificate` computes that bound. With one of them unknown, or both, which is the default,
    several values are tried and followed as their estimated rewards suggest: no theorem covers that, and nothing is
    guaranteed.

    Parameters
    ----------
    gap : lower bound on the difference of expected rewards of two arms of a round. None: several are tried.
    margin : lower bound on the difference of their scores, for contexts of norm at most 1; longer ones are then
        refused. None: several are tried, in units of the longest context.
    reward_range : lowest and highest reward.
    horizon : number of rounds to come. None: every round explores as if it were the last.
    exploration : the smallest probability with which a round explores; None: as little as the theory wants.
    random_state : seed of the draws.
    default_reward : what `expire` teaches; None: the lowest reward.
    clip_rewards : take rewards outside the range as its nearest end, instead of refusing them.
    update : "inverse-margin", or "paper" for the paper's Algorithm 3, which needs gap, margin and horizon. Its bound
        (Theorem 1.10 of the paper) is for rewards that come before the next choice.

    Examples
    --------
    >>> bandit = MonotoneBandit(random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> earned = 0
    >>> for _ in range(2000):
    ...     contexts = rng.normal(size=(5, 3)) / 3
    ...     choice = bandit.choose(contexts)
    ...     reward = float(rng.random() < 0.5 + 0.4 * np.tanh(contexts[choice.arm, 0]))
    ...     bandit.learn(choice, reward)
    ...     earned += reward
    >>> bandit.rounds, earned > 1100
    (2000, True)
    """

    def __init__(
        self,
        gap: float | None = None,
        margin: float | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        horizon: float | None = None,
        exploration: float | None = None,
        random_state: int | None = None,
        *,
        default_reward: float | None = None,
        clip_rewards: bool = False,
        update: str = "inverse-margin",
    ) -> None:
        lowest, highest = check_reward_range(reward_range)
        if gap is not None and not 0 < gap <= highest - lowest:
            raise InvalidParameterError(f"gap={gap!r}: give a number above 0, at most the reward range, or None")
        if margin is not None and not 0 < margin <= 2:
            raise InvalidParameterError(f"margin={margin!r}: give a number above 0 and at most 2, or None")
        if horizon is not None and not (np.isfinite(horizon) and horizon >= 1):
            raise InvalidParameterError(f"horizon={horizon!r}: give the number of rounds to come, 1 or more, or None")
        if exploration is not None and not 0 <= exploration <= 1:
            raise InvalidParameterError(f"exploration={exploration!r}: give a probability, or None")
        if update not in UPDATES:
            raise InvalidParameterError(f"update={update!r}: choose one of {', '.join(map(repr, UPDATES))}")
        if update == "paper" and (gap is None or margin is None or horizon is None):
            raise InvalidParameterError("update='paper' needs gap, margin and horizon: its steps depend on them")
        default = lowest if default_reward is None else default_reward
        if not lowest <= default <= highest:
            raise InvalidParameterError(f"default_reward={default_reward!r} is outside reward_range={reward_range!r}")
        width = highest - lowest
        gaps = (gap,) if gap is not None else [g * width for g in (GAPS if margin is None else FINE_GAPS)]
        margins = (margin,) if margin is not None else (MARGINS if gap is None else FINE_MARGINS)
        grid = np.array([(g, m) for g in gaps for m in margins])
        experts = np.zeros((kernel.EXPERT_SIZE, len(grid)))
        experts[[kernel.DELTA, kernel.GAMMA]] = grid.T
        experts[kernel.SCALE] = 1.0
        experts[kernel.NORM2] = float(update == "paper")  # |e_1|, where Algorithm 3 begins
        totals = np.zeros(kernel.TOTAL_SIZE)
        totals[kernel.BASELINE] = (lowest + highest) / 2
        given: Any = random_state
        if given is not None and not (isinstance(given, Integral) and int(given) >= 0):
            raise InvalidParameterError(f"random_state={random_state!r}: give a whole number, 0 or more, or None")
        seed = np.random.SeedSequence(random_state).generate_state(1, np.uint64)
        self._set(
            {
                "how": np.array(
                    [exploration or 0.0, lowest, highest, horizon or 0.0, margin is None, update == "paper"], np.float64
                ),
                "weights": np.zeros((0, len(grid))),
                "experts": experts,
                "totals": totals,
                "seed": seed,
                "options": np.array([default, float(clip_rewards)]),
                "pending": np.empty(0, np.int64),
            }
        )
        self.identity = uuid.uuid4().hex

    def _set(self, arrays: dict[str, NDArray[Any]]) -> None:
        arrays = {name: np.require(array, requirements=["C", "W"]) for name, array in arrays.items()}
        self._how = arrays["how"]  # (HOW_SIZE,) what it was told
        self._kernel: Any = paper if self._how[kernel.PAPER] else kernel
        self._T = arrays["weights"]  # (n_features, experts), no rows before the first contexts
        self._S = arrays["experts"]  # (EXPERT_SIZE, experts)
        self._t = arrays["totals"]  # (TOTAL_SIZE,)
        self._seed = arrays["seed"]  # (1,)
        self._options = arrays["options"]  # default reward, clip
        self._pending = set(arrays["pending"].tolist())  # numbers of choices that wait for their reward

    def choose(self, contexts: Contexts, allowed: Any = None) -> Choice:
        """An arm for these contexts, (k, d) array or CSR; `allowed` is a mask of the arms that may be played."""
        number = int(self._t[kernel.CHOICES])
        if self._how[kernel.PAPER]:
            arms, memo, _ = self._plan(contexts, allowed)
            self._S[paper.DRIFT] += bool(self._pending)  # one of them will be learned after w has moved
            arm = int(paper.flip(arms.allowed, memo, coin(self._seed[0], float(number))))
            shares = self._shares()
        else:
            known = self._known
            arms = Arms.of(contexts, allowed, self._T.shape[0] if known else None, finite=True)
            weights = self._T if known else self._first_weights(arms.width)
            shares, memo = np.empty(self._S.shape[1]), self._new_memo(arms.count)
            arm = kernel.decide(
                arms.rows, arms.allowed, self._seed[0], self._how, weights, self._S, self._t, shares, memo
            )
            if arm < 0:
                raise arms.refusal(-1 - arm, self._margin, _OTHERWISE)
            self._T = weights
        self._t[kernel.CHOICES] += 1.0
        self._pending.add(number)
        notes = _Memo(
            arms=memo[0],
            rates=memo[1],
            margins=memo[2],
            distances=memo[3],
            allowed=arms.allowed,
            baseline=float(self._t[kernel.BASELINE]),
            shares=shares,
        )
        notes.parts = (arm, memo[4], arms.contexts)
        # The greedy arm is that of the experts who are believed most; the first of equals.
        return Choice(arm, memo[4], int(memo[4].argmax()), arms.contexts, self.identity, number, notes)

    def probabilities(self, contexts: Contexts, allowed: Any = None) -> NDArray[np.float64]:
        """(k,) with which `choose` would choose each arm; nothing changes."""
        before, weights = self._t.copy(), self._T
        _, memo, _ = self._plan(contexts, allowed)
        self._t[:], self._T = before, weights
        return np.asarray(memo[4])

    def _shares(self) -> NDArray[np.float64]:
        shares = np.empty(self._S.shape[1])
        kernel.share(self._S, self._t, shares)
        return shares

    def _plan(self, contexts: Contexts, allowed: Any) -> tuple[Arms, Any, NDArray[np.float64]]:
        width = self._T.shape[0]
        arms = Arms.of(contexts, allowed, width if self._known else None)
        weights = self._T if self._known else self._first_weights(arms.width)
        count, experts = arms.count, self._S.shape[1]
        scores, squares = np.empty((count, experts)), np.empty(count)
        bad = kernel.look(arms.rows, count, weights, self._S, kernel.square_limit(self._how), scores, squares)
        if bad >= 0:
            raise arms.refusal(bad, self._margin, _OTHERWISE)
        self._T = weights
        memo = self._new_memo(count)
        scratch = np.zeros(self._T.shape[0])
        self._kernel.plan(
            arms.rows, arms.allowed, self._how, self._S, self._t, self._shares(), scores, squares, scratch, memo
        )
        return arms, memo, scores

    def _new_memo(self, count: int) -> Any:
        experts = self._S.shape[1]
        pairs = np.empty((2, count, experts))
        return np.empty(experts, np.int64), np.empty(experts), pairs[0], pairs[1], np.empty(count)

    def _first_weights(self, width: int) -> NDArray[np.float64]:
        weights = np.zeros((width, self._S.shape[1]))
        weights[:1] = self._how[kernel.PAPER]  # Algorithm 3 begins at e_1
        return weights

    @property
    def _margin(self) -> float | None:
        """The margin that was given, for contexts of norm at most 1."""
        return None if self._how[kernel.RELATIVE] else float(self._S[kernel.GAMMA, 0])

    @property
    def _known(self) -> bool:
        """Whether the number of features is known: from the first contexts on."""
        return bool(self._T.shape[0] > 0 or self._t[kernel.CHOICES] > 0)

    def learn(self, choice: Choice, reward: float) -> None:
        """Learn the reward of a choice, at any time and in any order, each choice at most once."""
        value = reward_number(reward, self._how[kernel.LOWEST], self._how[kernel.HIGHEST], clip=bool(self._options[1]))
        self._check(choice)
        parts = choice.memo
        ours = isinstance(parts, _Memo) and parts.belongs_to(choice)
        if ours:
            memo = (parts["arms"], parts["rates"], parts["margins"], parts["distances"], choice.probabilities)
            allowed, baseline, shares = parts["allowed"], parts["baseline"], parts["shares"]
        else:
            memo, allowed, baseline, shares = self._remembered(choice)
        arms = Arms.of(choice.contexts, allowed, self._T.shape[0], own=True, finite=ours)
        if not self._how[kernel.PAPER]:
            kernel.absorb(
                arms.rows, arms.allowed, choice.arm, value, baseline, self._how, self._T, self._S, self._t, shares, memo
            )
            self._pending.discard(choice.number)
            return
        estimates = np.empty(arms.count)
        self._kernel.estimate(
            choice.arm, value, baseline, memo[4], arms.allowed, memo[0], shares, self._S, self._t, estimates
        )
        width = max(self._how[kernel.HIGHEST] - baseline, baseline - self._how[kernel.LOWEST])
        self._kernel.teach(
            arms.rows, arms.allowed, estimates, memo, width, False, self._T, self._S, np.zeros_like(self._T)
        )
        self._kernel.remember(value, self._t)
        self._pending.discard(choice.number)

    def expire(self, choice: Choice) -> None:
        """No reward came: learn the default one."""
        self.learn(choice, float(self._options[0]))

    def _check(self, choice: Choice) -> None:
        if not isinstance(choice, Choice):
            raise InvalidDataError(f"choice is a {type(choice).__name__}: pass what choose returned")
        if choice.policy != self.identity:
            raise InvalidDataError("choice.policy names another bandit: learn with the one that made the choice")
        if choice.number not in self._pending:
            raise InvalidDataError(f"choice.number={choice.number} has been learned already, or was never made")

    def _remembered(self, choice: Choice) -> tuple[Any, NDArray[np.bool_], float, NDArray[np.float64]]:
        experts, count = self._S.shape[1], len(choice.probabilities)
        try:
            parts = choice.memo
            memo = (
                np.asarray(parts["arms"], dtype=np.int64).reshape(experts),
                np.asarray(parts["rates"], dtype=np.float64).reshape(experts),
                np.asarray(parts["margins"], dtype=np.float64).reshape(count, experts),
                np.asarray(parts["distances"], dtype=np.float64).reshape(count, experts),
                np.ascontiguousarray(choice.probabilities, dtype=np.float64),
            )
            allowed = np.asarray(parts["allowed"], dtype=bool).reshape(count)
            shares = np.asarray(parts["shares"], dtype=np.float64).reshape(experts)
            baseline = float(parts["baseline"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidDataError(
                f"choice.memo is not what choose wrote ({error}): pass the choice unchanged"
            ) from None
        known = memo[0].min() >= 0 and memo[0].max() < count and 0 <= choice.arm < count
        sound = known and memo[2].min() > 0 and memo[3].min() >= 0 and choice.probability > 0
        sound = sound and memo[1].min() >= 0 and memo[1].max() <= 1
        if sound and not self._how[kernel.PAPER]:  # margins[a] is gamma, and w.(x_a - x_j) >= 0
            floor = memo[2][memo[0], np.arange(experts)]
            sound = bool(
                (memo[2] >= floor).all()
                and (self._margin is None or (floor == np.maximum(self._S[kernel.GAMMA], 1e-150)).all())
            )
        # A sum is finite only if everything in it is: these numbers are far from overflow.
        total = memo[1].sum() + memo[2].sum() + memo[3].sum() + memo[4].sum() + shares.sum() + baseline
        if not (sound and isfinite(total)):
            raise InvalidDataError("choice.memo holds numbers that choose never wrote: pass the choice unchanged")
        return memo, allowed, baseline, shares

    def play(self, contexts: NDArray[np.float64], rewards: NDArray[np.float64]) -> Played:
        """Choose and learn rounds of a simulation at once: contexts (n, k, d), rewards (n, k) of all arms."""
        contexts, rewards = np.ascontiguousarray(contexts, np.float64), np.ascontiguousarray(rewards, np.float64)
        if contexts.ndim != 3 or rewards.shape != contexts.shape[:2] or contexts.shape[1] < 1:
            raise InvalidDataError(
                f"contexts {contexts.shape} and rewards {rewards.shape} must be (rounds, arms, features) and "
                "(rounds, arms)"
            )
        lowest, highest = self._how[kernel.LOWEST], self._how[kernel.HIGHEST]
        if not ((rewards >= lowest) & (rewards <= highest)).all():
            raise InvalidDataError(f"rewards leave reward_range ({lowest:g}, {highest:g}), or are not numbers")
        if not np.abs(contexts).max(initial=0.0) <= 1e50 / np.sqrt(max(1, contexts.shape[2])):
            raise InvalidDataError("contexts hold numbers that are not finite, or are longer than 1e50")
        if self._known and contexts.shape[2] != self._T.shape[0]:
            raise InvalidDataError(
                f"contexts have {contexts.shape[2]} features, but this bandit has {self._T.shape[0]}"
            )
        if self._margin is not None:
            squares = np.einsum("nkd,nkd->nk", contexts, contexts)
            if not squares.max(initial=0.0) <= kernel.UNIT_SQUARE:
                row, arm = np.argwhere(squares > kernel.UNIT_SQUARE)[0]
                norm = float(np.sqrt(squares[row, arm]))
                raise too_long(f"contexts[{row}, {arm}]", norm, self._margin, _OTHERWISE)
        if not self._known:
            self._T = self._first_weights(contexts.shape[2])
        if self._how[kernel.PAPER] and len(contexts):
            self._S[paper.DRIFT] += bool(self._pending)
        arms, chances = np.empty(len(contexts), np.int64), np.empty(len(contexts))
        self._kernel.play(contexts, rewards, self._seed[0], self._how, self._T, self._S, self._t, arms, chances)
        return Played(arms, chances)

    @property
    def rounds(self) -> int:
        """Rewards learned."""
        return int(self._t[kernel.ROUNDS])

    @property
    def pending(self) -> int:
        """Choices that wait for their reward."""
        return len(self._pending)

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the scores' weights: the experts' unit vectors, each with its share."""
        w = self._T * self._S[kernel.SCALE]
        norms = np.linalg.norm(w, axis=0)
        return np.asarray((w / np.where(norms > 0, norms, 1.0) * self._shares()).sum(axis=1))  # no BLAS: a fixed order

    def certificate(self, confidence: float = 0.95) -> LiftCertificate:
        """The lift over a random arm guaranteed by Theorem 17 of docs/theory.md for the rounds learned, and that seen.

        Only with both gap and margin known: there is no theorem otherwise.
        """
        return certify_lift(self._how, self._S, self._t, self._pending, confidence)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it remembers; `from_arrays` gives it back bit for bit."""
        return {
            "how": self._how,
            "weights": self._T,
            "experts": self._S,
            "totals": self._t,
            "seed": self._seed,
            "options": self._options,
            "pending": np.array(sorted(self._pending), dtype=np.int64),
            "identity": np.frombuffer(bytes.fromhex(self.identity), dtype=np.uint8),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "MonotoneBandit":
        """The bandit whose `arrays()` these are; those of older files are completed."""
        arrays = dict(arrays, experts=_grown(arrays))
        experts = arrays["experts"].shape[-1]
        shapes: dict[str, tuple[int, ...]] = {
            "how": (kernel.HOW_SIZE,),
            "experts": (kernel.EXPERT_SIZE, experts),
            "totals": (kernel.TOTAL_SIZE,),
            "options": (2,),
        }
        if arrays["weights"].size:
            shapes["weights"] = (arrays["weights"].shape[0], experts)
        check_arrays(arrays, shapes)
        for name, kind in (("seed", np.uint64), ("pending", np.int64), ("identity", np.uint8)):
            if arrays[name].ndim != 1 or arrays[name].dtype != kind:
                raise ModelFileError(f"array {name!r} is not a list of {kind.__name__}")
        if arrays["seed"].size != 1 or arrays["identity"].size != 16 or arrays["weights"].ndim != 2:
            raise ModelFileError("the arrays are not those of a bandit")
        if arrays["how"][kernel.PAPER] and (experts != 1 or not arrays["how"][kernel.HORIZON] >= 1):
            raise ModelFileError("array 'how' asks for update='paper', which has one expert and a horizon")
        bandit = cls.__new__(cls)
        bandit._set(arrays)
        bandit.identity = arrays["identity"].tobytes().hex()
        return bandit

    def copy(self) -> "MonotoneBandit":
        """An independent bandit in the same state, which may learn the same pending choices."""
        return MonotoneBandit.from_arrays({name: array.copy() for name, array in self.arrays().items()})


def _grown(arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """The experts of an old file with what late rewards may have cost: |<g, w - w'>| <= 2 |g|, and Cauchy-Schwarz."""
    S, how, t = arrays["experts"], arrays["how"], arrays["totals"]
    if S.ndim != 2 or S.shape[0] <= kernel.SQUARES or how.ndim != 1 or t.ndim != 1:
        return S
    rounds = max(0.0, float(t[kernel.ROUNDS])) if t.size > kernel.ROUNDS else 0.0
    drift = 2.0 * np.sqrt(rounds * np.maximum(0.0, S[kernel.SQUARES]))
    if how.size > kernel.PAPER and how[kernel.PAPER]:
        drift = np.full(S.shape[1], float(rounds > 0 or arrays["pending"].size > 0))
    return grown(S, rounds, drift)
