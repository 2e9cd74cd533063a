"""MonotoneBandit: choose among arms described by feature vectors, learn from the reward of the one that was played."""

import secrets
import uuid
from typing import Any

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidDataError, ModelFileError
from massart.kernels.blend_state import BlendState, check_blend, new_blend
from massart.kernels.learning import ranking as kernel
from massart.kernels.ranking_door import CheckedRound, check_round
from massart.kernels.ranking_state import RankingState, check_state, new_state, require_arrays
from massart.learners.base import seed_of
from massart.learners.choice import Choice, Played, Signer, begin_epoch
from massart.learners.explanation import Explanation, explain_choice
from massart.learners.features import FeatureTable
from massart.learners.from_logs import LearnedLog, Logged, learn_decisions, logged_chances
from massart.learners.lift import LiftCertificate, certify_blend, certify_lift, lift_html
from massart.learners.locking import Guarded
from massart.learners.pending import Pending
from massart.options import MOST_CHOICES, BanditOptions, check_reward, strict_number

# (gap in units of the reward range, margin in units of the longest context) of the experts when neither is known.
GAPS, MARGINS = (0.02, 0.1), (0.1, 0.02)
FINE_GAPS, FINE_MARGINS = (0.01, 0.03, 0.1, 0.3), (0.3, 0.1, 0.03, 0.01)
_OTHERWISE = ", or leave margin=None"
_MADE_ANEW = ("_epoch", "_features", "_logged", "_pending", "_signer", "_state")  # by `__setstate__`


class MonotoneBandit(Guarded):
    """Contextual bandit: contexts of any scale, delayed rewards, and a bound that holds where regression is misled.

    With default settings it mostly plays the arm of a least squares regression with optimism, in which the mean context
    of the round is a second set of regressors: what a better context earns within a round is told apart from what
    better rounds earn. It learns at four paces, averaged by how well each predicts, so that it follows rewards that
    change with time, with a level common to all arms that moves faster (one pace and no level only where more than 128
    columns occur together). Where arms have columns of their own (a context crossed with the arm), each gets a
    regression of its own. Nothing is proved of the regression, so it is mixed with monotone experts, whose share grows
    as their estimated lead does; Theorem 19 of docs/theory.md bounds what the mixture costs against them, on every
    path. Lift is the reward above that of a uniformly random arm.

    The experts assume only that within a round a better score w*.x, ||w*|| <= 1, means a better expected reward, by at
    least `gap` between any two arms with different contexts, at scores at least `margin` apart. Across rounds rewards
    may fall as scores rise. With both `gap` and `margin` given there is one such expert and no regression, and
    E[lift] >= (k-1)/k * gap * T - o(T) (Theorem 11); Theorem 17 covers rewards learned late and arms with equal
    contexts (which then must have equal expected rewards). With one of the two given, several values of the other are
    tried, without a theorem. `certificate` computes what is guaranteed.

    Parameters
    ----------
    gap : float, default=None
        Lower bound on the difference of expected rewards of two arms of a round. If None, it is not known.
    margin : float, default=None
        Lower bound on the difference of their scores, for contexts of norm at most 1; longer ones are then refused. If
        None, it is not known, and contexts may have any norm up to 1e50.
    reward_range : tuple of two floats, default=(0.0, 1.0)
        Lowest and highest reward, each at most 1e50 in size.
    horizon : float, default=None
        Number of rounds to come, at most 1e15. If None, every round explores as if it were the last.
    exploration : float, default=None
        The smallest probability with which a round explores, by a uniformly random arm. If None, as little as the
        theory requires.
    random_state : int, default=None
        Random seed of a new bandit; a loaded one draws anew, see `reseed`.
    default_reward : float, default=None
        The reward that `expire` and `expire_after` learn. If None, the lowest reward.
    clip_rewards : bool, default=False
        Whether to clip rewards outside the range instead of refusing them.
    update : {"inverse-margin", "paper"}, default="inverse-margin"
        "paper" is Algorithm 3 of the paper, which needs gap, margin and horizon. Its bound (Theorem 1.10 of the paper)
        is for rewards that come before the next choice.
    expire_after : int, default=None
        A choice whose reward has not come when so many others have been made after it is learned with the default
        reward. If None, choices wait for ever, at about 100 bytes each.

    Notes
    -----
    Several threads may use one bandit. Every choice has an `identity` of its own, across restarts, copies and threads.
    A choice that comes back through `Choice.to_json` must be unchanged: it is compared with a digest made by a key
    that `save` keeps beside the model. A copy, pickled or not, learns and draws as the original would; a loaded bandit
    learns as the saved one would, and draws anew.

    A bandit takes either rows of numbers or features with names, from its first choice on. With names it has one
    column for each feature that occurred, up to 65,536; later ones share columns by their hash.

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

    Arms with ids and a context that they share, by name:

    >>> bandit = MonotoneBandit(random_state=0)
    >>> choice = bandit.choose(["news", "sport", "arts"], {"age": 31, "town": "Rome"})
    >>> bandit.learn(choice, 1.0 if choice.arm_id == "sport" else 0.0)
    """

    _state: RankingState
    _pending: Pending
    _signer: Signer
    _features: FeatureTable
    _logged: Logged
    _seed: np.uint64
    _default: float
    _clip: bool
    _lost_key: str  # why choices from before cannot be verified, or ""

    _epoch: int  # set by begin_epoch

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
        expire_after: int | None = None,
    ) -> None:
        options = BanditOptions(
            gap, margin, reward_range, horizon, exploration, default_reward, clip_rewards, update, expire_after
        )
        self._default = float(options.default_reward or 0.0)
        self._clip = bool(options.clip_rewards)
        self._state = _first_state(options)
        self._seed = seed_of(random_state)
        self._pending = Pending(options.expire_after)
        self._features, self._logged = FeatureTable(), Logged()
        self._identity = uuid.uuid4().hex
        begin_epoch(self)
        self._signer = Signer()
        self._lost_key = ""

    @property
    def identity(self) -> str:
        """32 hexadecimal digits that name this bandit, its copies and what was saved of it."""
        return self._identity

    def choose(self, arms: Any, context: Any = None, allowed: Any = None) -> Choice:
        """Choose one of the arms; `allowed` is a mask of those that may be played.

        Arms are rows, as (k, d) array or CSR; mappings {feature: value}, where a text is a category; ids, texts or
        whole numbers; or ids with features, as {id: features} or [(id, features)]. `context`, a mapping or a row, is
        shared by all arms, and crossed with their ids or, if they have none, with their features.
        """
        with self._lock:
            state = self._state
            given, offer = self._features.given(arms, context, allowed, state)
            number = int(state.totals[kernel.Total.CHOICES])
            if number >= MOST_CHOICES:
                raise InvalidDataError(f"this bandit has made {number:,} choices, as many as it can: begin a new one")
            arm, made = state.decide(given, self._seed, _OTHERWISE)
            pending = self._pending
            if len(pending):
                self._count_late()
            pending.add(number, self._epoch, made)
            if pending.expire_after is not None:
                for due, late in pending.overdue(number + 1):
                    state.absorb(late, self._default)
                    pending.settle(due)
            return Choice.of_round(arm, made, self._identity, self._epoch, number, self._signer, offer)

    def _count_late(self) -> None:
        """Algorithm 3: one of the choices that wait will be learned after w has moved."""
        if self._state.is_paper:
            self._state.experts[kernel.Expert.DRIFT] += 1.0

    def probabilities(self, arms: Any, context: Any = None, allowed: Any = None) -> NDArray[np.float64]:
        """(k,) with which `choose` would choose each arm; nothing changes."""
        with self._lock:
            given, _ = self._features.given(arms, context, allowed, self._state, keep=False)
            return self._state.foresee(given, _OTHERWISE).probabilities

    @property
    def has_names(self) -> bool:
        """Whether it knows features by name; such a bandit reads logs with `crossed` features."""
        return len(self._features) > 0

    def explain(self, choice: Choice) -> Explanation:
        """The score of the chosen arm by the weights of now, and what each feature contributes to it."""
        with self._lock:
            return explain_choice(choice, self._state.score_weights(), self._features)

    def learn_log(self, log: Any, **reading: Any) -> LearnedLog:
        """Learn rounds that another policy played, from a log with the probabilities that it gave to its arms.

        `log` is a `massart.data.DecisionLog`, or paths of a log, read with the further parameters of that class, or
        decisions. See `learn_logged`, which learns each; what cannot be learned is left out and counted.
        """
        return learn_decisions(self, log, reading)

    def learn_logged(
        self, arms: Any, arm: int, probability: float, reward: float, context: Any = None, probabilities: Any = None
    ) -> bool:
        """Learn one round in which another policy played `arm`, which had this probability; it counts as a choice.

        The reward is weighted by one over the probability, of which one below 0.01 counts as 0.01: returns whether it
        was. `probabilities` are those of all arms, if they are known. Nothing is guaranteed of a bandit that learned
        so: see `certificate`.
        """
        with self._lock:
            value = check_reward(reward, self._state.lowest, self._state.highest, clip=self._clip)
            chances, allowed, clipped = logged_chances(arm, probability, probabilities)
            given, _ = self._features.given(arms, context, allowed, self._state)
            self._state.absorb_logged(given, arm, np.resize(chances, given.count), value)
            self._logged.add(clipped)
            return clipped

    def learn(self, choice: Choice, reward: float) -> None:
        """Learn the reward of a choice, at any time and in any order, each choice at most once."""
        with self._lock:
            state = self._state
            value = check_reward(reward, state.lowest, state.highest, clip=self._clip)
            made = self._recognised(choice)
            state.absorb(made, value)
            self._pending.settle(choice.number)

    def expire(self, choice: Choice) -> None:
        """No reward came: learn the default one."""
        self.learn(choice, self._default)

    def forget_pending(self) -> int:
        """Wait for no reward any more, and learn nothing from those choices; returns how many there were.

        For a copy that leaves them to another one, and for choices that are lost.
        """
        with self._lock:
            return self._pending.clear()

    def _recognised(self, choice: Choice) -> CheckedRound:
        """The round of a choice, if it waits and is unchanged."""
        if not isinstance(choice, Choice):
            raise InvalidDataError(f"choice is a {type(choice).__name__}: pass what choose returned")
        if choice.policy != self._identity:
            raise InvalidDataError("choice.policy names another bandit: learn with the one that made the choice")
        state, number, epoch = self._state, choice.number, choice.epoch
        if not self._pending.waits(number, epoch):
            self._pending.check(number, epoch, state.chosen)
        made = choice.round_by(self._signer)
        if made is not None:
            return made
        if not self._signer.accepts(choice):
            raise InvalidDataError(
                "choice.digest is not that of this choice: it came back changed, or was made with another key"
                f"{self._lost_key}. Pass the choice, or what Choice.to_json wrote, unchanged"
            )
        arms, _ = self._features.given(choice.contexts, None, choice.memo.get("allowed"), state)
        state.look(arms)
        return check_round(arms, choice.arm, choice.probabilities, choice.memo, state)

    def play(self, contexts: NDArray[np.float64], rewards: NDArray[np.float64]) -> Played:
        """Choose and learn rounds of a simulation at once: contexts (n, k, d), rewards (n, k) of all arms."""
        with self._lock:
            arms, chances = self._state.play(contexts, rewards, self._seed, _OTHERWISE)
            if len(self._pending) and len(arms):
                self._count_late()
            return Played(arms, chances)

    @property
    def rounds(self) -> int:
        """Rewards learned."""
        return self._state.learned

    @property
    def reward_range(self) -> tuple[float, float]:
        """Lowest and highest reward."""
        return self._state.lowest, self._state.highest

    @property
    def pending(self) -> int:
        """Choices that wait for their reward."""
        return len(self._pending)

    @property
    def weights(self) -> NDArray[np.float64]:
        """(d,) the scores' weights: the experts' unit vectors, each with its share."""
        with self._lock:
            return self._state.score_weights()

    def certificate(self, confidence: float = 0.95) -> LiftCertificate:
        """The lift over a random arm guaranteed by docs/theory.md for the rounds learned, and that seen.

        By Theorem 17 with both gap and margin known, by Theorem 19 with neither; with one of them there is no theorem,
        nor with rounds learned from logs.
        """
        confidence = strict_number("confidence", confidence, 1e-300, 1.0, "give a number between 0 and 1")
        with self._lock:
            state = self._state
            if isinstance(state, BlendState):
                found = certify_blend(state, list(self._pending), confidence)
            else:
                found = certify_lift(state.how, state.experts, state.totals, list(self._pending), confidence)
            return self._logged.without_guarantee(found)

    def _repr_html_(self) -> str:
        """For notebooks."""
        return lift_html(self.certificate(), type(self).__name__)

    def reseed(self, random_state: int | None = None) -> None:
        """Draw from here on as a new bandit with this seed would after as many choices; None: a seed of its own."""
        seed = np.uint64(secrets.randbits(64)) if random_state is None else seed_of(random_state)
        with self._lock:
            self._seed = seed

    def _drawn_anew(self) -> None:
        """In a forked process: as after a load. Without the lock, which a thread of the other process may hold."""
        self._seed = np.uint64(secrets.randbits(64))

    def sign_with(self, key: bytes | None, lost: str = "") -> None:
        """Sign choices by this key of 32 bytes from here on; None: by a new one, for the old one is `lost`.

        Bandits that share a key and an origin learn each other's choices, if those waited when they parted.
        """
        with self._lock:
            self._signer, self._lost_key = Signer(key), lost

    @property
    def key(self) -> bytes:
        """The key that signs choices: its owner can make choices that this bandit learns from."""
        return self._signer.key

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of its state but for the key; `from_arrays` restores it bit for bit."""
        with self._lock:
            options = [self._default, float(self._clip), float(self._pending.expire_after or 0)]
            return {
                **self._state.arrays(),
                "seed": np.array([self._seed]),
                "options": np.array(options),
                **self._pending.arrays(),
                **self._features.arrays(),
                **self._logged.arrays(),
                "identity": np.frombuffer(bytes.fromhex(self._identity), dtype=np.uint8),
            }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "MonotoneBandit":
        """A bandit that learns and draws as the one whose `arrays()` these are.

        Its own choices are of a new epoch and signed by a new key.
        """
        bandit = cls.__new__(cls)
        bandit._set(arrays)
        return bandit

    def _set(self, arrays: dict[str, NDArray[Any]]) -> None:
        require_arrays(arrays, ("how", "experts", "totals", "weights", "seed", "options", "pending", "identity"))
        state = check_blend(arrays) if "mix" in arrays else check_state(arrays)
        for name, kind, size in (("seed", np.uint64, 1), ("identity", np.uint8, 16)):
            if arrays[name].shape != (size,) or arrays[name].dtype != kind:
                raise ModelFileError(f"array {name!r} is not {size} numbers of type {kind.__name__}")
        options = arrays["options"]
        if options.dtype != np.float64 or options.shape != (3,) or not np.isfinite(options).all():
            raise ModelFileError("array 'options' is not the default reward, clip_rewards and expire_after")
        default, clip, expiry = options.tolist()
        if not state.lowest <= default <= state.highest or clip not in (0.0, 1.0) or not 0 <= expiry <= MOST_CHOICES:
            raise ModelFileError("array 'options' holds a default reward or an expire_after that no bandit has")
        if expiry != int(expiry):
            raise ModelFileError("array 'options' holds an expire_after that is not whole")
        self._state, self._default, self._clip = state, default, bool(clip)
        self._pending = Pending.from_arrays(arrays, int(expiry) or None, state)
        self._features = FeatureTable.from_arrays(arrays, state.width or 0)
        self._logged = Logged.from_arrays(arrays, state.learned)
        self._seed = np.uint64(arrays["seed"][0])
        self._identity = arrays["identity"].tobytes().hex()
        begin_epoch(self)
        self._signer = Signer()
        self._lost_key = ""

    def copy(self) -> "MonotoneBandit":
        """An independent bandit in the same state, which learns and draws alike; it may learn what is pending, too.

        Its own choices are of a new epoch.
        """
        with self._lock:
            copy = type(self).from_arrays(self.arrays())
            copy._signer, copy._lost_key = self._signer, self._lost_key
            return copy

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            own = {name: value for name, value in super().__getstate__().items() if name not in _MADE_ANEW}
            return own | {"arrays": self.arrays(), "key": self._signer.key}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy, here or in another process: a new epoch, the same key."""
        self._set(state.pop("arrays"))
        self._signer = Signer(state.pop("key"))
        super().__setstate__(state)


def _first_state(options: BanditOptions) -> RankingState:
    """One expert per pair of gap and margin: those that are given, else several."""
    lowest, highest = options.reward_range
    gap, margin = options.gap, options.margin
    gaps = [gap] if gap is not None else [g * (highest - lowest) for g in (GAPS if margin is None else FINE_GAPS)]
    margins = (margin,) if margin is not None else (MARGINS if gap is None else FINE_MARGINS)
    horizon, exploration = options.horizon or 0.0, options.exploration or 0.0
    how = [exploration, lowest, highest, horizon, margin is None, options.update == "paper"]
    grid = [(g, m) for g in gaps for m in margins]
    return new_blend(how, grid) if gap is None and margin is None else new_state(how, grid)
