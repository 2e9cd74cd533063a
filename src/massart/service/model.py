"""The model of a loop: a bandit, the number of the last step that it has learned, and sums over those steps.

It is a function of the steps alone: `apply` is the only thing that changes it, and two models that applied the same
steps are the same, to the bit. A snapshot holds all of it.
"""

import hashlib
import math
import threading
from dataclasses import replace
from typing import Any, Final

import msgspec
import numpy as np

from massart.data.decisions.decision import BadLines
from massart.data.decisions.json_lines import read_jsonl
from massart.data.offers import Offer, offer_of_record
from massart.errors import InvalidDataError, ModelFileError
from massart.kernels.learning.ranking import Setting
from massart.learners.bandit import MonotoneBandit
from massart.learners.lift import LiftCertificate
from massart.learners.rounds import RoundPlan, learn_round, plan_round
from massart.models.model_file import model_bytes, read_bytes
from massart.service.store import DecisionRow, Step, Why
from massart.service.types import Action, DecideRequest, LoopSettings

__all__ = ["LoopModel", "bandit_of", "draw", "learn_lines", "new_bandit", "offer_of_request", "request_of", "toss_of"]

_DECODE = msgspec.json.Decoder(DecideRequest)
_FIRST_SEED: Final = 0
_LEARNED: Final = frozenset((int(Why.REWARD), int(Why.DEFAULT)))
_ANEW: Final = frozenset((int(Why.RESET), int(Why.MODEL)))
_DEFAULT, _RESET = int(Why.DEFAULT), int(Why.RESET)
# Sums over the steps that were learned, in this order; p is the probability of the action that was taken.
SUMS: Final = ("rounds", "rewards", "squares", "baseline", "baseline_squares", "random", "random_squares", "defaults",
               "matches")  # fmt: skip


class LoopModel:
    """A bandit that changes by steps only."""

    def __init__(self, settings: LoopSettings) -> None:
        self.bandit, self.settings = new_bandit(settings), settings
        self.version = 0
        self.began = 0  # the version at which the bandit began: decisions before it are not learned
        self.updated = 0  # time of the last step
        self.last, self.ordered = 0, True  # the last decision learned; whether they came in the order of deciding
        self.sums = dict.fromkeys(SUMS, 0.0)
        self.explores_since = 0  # the version at which the exploration was last changed, 0 if never
        self.varied = False  # whether rounds were learned that were decided with different ones
        self._lock = threading.RLock()

    def plan(self, offer: Offer, allowed: list[bool] | None) -> tuple[RoundPlan, int]:
        """What the bandit would do, and its version."""
        with self._lock:
            return plan_round(self.bandit, offer, allowed), self.version

    def apply(self, step: Step, decision: DecisionRow | None) -> None:
        """Learn the next step."""
        if step.version != self.version + 1 and step.why != _RESET:  # where a log was deleted it begins with that
            raise InvalidDataError(f"step {step.version} does not follow version {self.version}")
        if step.why in _ANEW:
            if step.why == Why.RESET:
                settings = msgspec.json.decode(step.data or b"{}", type=LoopSettings)
                bandit = new_bandit(settings)
            else:
                settings, bandit = self.settings, bandit_of(step.data or b"")
            with self._lock:
                self.settings = settings
                self.bandit, self.began, self.sums = bandit, step.version, dict.fromkeys(SUMS, 0.0)
                self.version, self.updated = step.version, step.time
                self.last, self.ordered = 0, True
                self.explores_since, self.varied = 0, False
            return
        with self._lock:
            if step.why == Why.SETTINGS:
                self.settings = msgspec.json.decode(step.data or b"{}", type=LoopSettings)
                self.bandit = _exploring(self.bandit, self.settings.exploration)
                self.explores_since, self.varied = step.version, self.varied or self.bandit.rounds > 0
            if decision is not None and step.why in _LEARNED:
                assert step.taught is not None  # noqa: S101
                p, own = learn_round(
                    self.bandit,
                    decision.round,
                    step.taught,
                    lambda: offer_of_request(request_of(decision), self.settings),
                )
                self.varied = self.varied or decision.version < self.explores_since
                self._count(step, decision, p, own)
            elif step.why == Why.IMPORT:
                learn_lines(self.bandit, step.data or b"")
            self.version, self.updated = step.version, step.time

    def _count(self, step: Step, decision: DecisionRow, p: list[float], own: int) -> None:
        """Add what is shown of the loop: rewards, and the estimated rewards of the baseline and of a random action."""
        sums, reward, arm = self.sums, float(step.reward or 0.0), decision.arm
        self.ordered, self.last = self.ordered and decision.seq > self.last, max(self.last, decision.seq)
        free = [place for place, one in enumerate(p) if one > 0.0]
        first = free[0]
        weight = 1.0 / p[arm] if decision.mode == "online" else 1.0
        baseline = reward * weight if arm == first else 0.0
        random = reward * weight / len(free)
        sums["rounds"] += 1.0
        sums["rewards"] += reward
        sums["squares"] += reward * reward
        sums["baseline"] += baseline
        sums["baseline_squares"] += baseline * baseline
        sums["random"] += random
        sums["random_squares"] += random * random
        sums["defaults"] += step.why == _DEFAULT
        sums["matches"] += own == first

    def certificate(self, waiting: int) -> LiftCertificate:
        """That of the bandit, while so many decisions wait.

        The test of the declaration is about rewards learned in the order of deciding: otherwise it says nothing.
        """
        with self._lock:
            found = self.bandit.certificate()
            if self.varied and found.assumed is not None:  # Theorem 19 is of one exploration, Theorem 17 of any
                found = replace(found, guaranteed_lift=None, varied=True)
            if self.ordered and not waiting:
                return found
            return replace(found, pending=waiting, evidence=1.0, holds=True)

    def snapshot(self) -> tuple[int, bytes]:
        """The version, and all of the model."""
        with self._lock:
            meta = {"version": self.version, "began": self.began, "updated": self.updated,
                    "last": self.last, "ordered": self.ordered, "sums": dict(self.sums),
                    "settings": msgspec.to_builtins(self.settings)}  # fmt: skip
            if self.explores_since:
                meta |= {"explores_since": self.explores_since, "varied": self.varied}
            version, arrays = self.version, self.bandit.arrays()
        return version, model_bytes("bandit", {"service": meta}, arrays)  # while others decide

    @classmethod
    def of_snapshot(cls, data: bytes) -> "LoopModel":
        """The model of a snapshot; a ModelFileError says what is wrong with it."""
        kind, meta, arrays = read_bytes(data, "the snapshot")
        own = meta.get("service")
        model = cls.__new__(cls)
        model._lock = threading.RLock()
        try:
            if kind != "bandit" or not isinstance(own, dict):
                raise TypeError(f"a {kind}")
            model.version, model.began, model.updated = (int(own[name]) for name in ("version", "began", "updated"))
            model.last, model.ordered = int(own["last"]), bool(own["ordered"])
            model.settings = msgspec.convert(own["settings"], LoopSettings)
            model.explores_since, model.varied = int(own.get("explores_since", 0)), bool(own.get("varied", False))
            model.sums = {name: float(own["sums"][name]) for name in SUMS}
            if not all(math.isfinite(value) for value in model.sums.values()):
                raise ValueError("sums that are not finite")
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the snapshot is not one of a loop ({error})") from None
        model.bandit = MonotoneBandit.from_arrays(arrays)
        return model


def new_bandit(settings: LoopSettings) -> MonotoneBandit:
    """The bandit of a loop with these settings, before it has learned anything."""
    bandit = MonotoneBandit(
        settings.gap, settings.margin, settings.reward_range, settings.horizon, settings.exploration, _FIRST_SEED
    )
    return MonotoneBandit.from_arrays(bandit.arrays() | {"identity": np.zeros(16, np.uint8)})  # not a random one


def _exploring(bandit: MonotoneBandit, exploration: float | None) -> MonotoneBandit:
    """The bandit with another least exploration; it goes on from what it has learned."""
    arrays = bandit.arrays()
    how = arrays["how"].copy()
    how[Setting.FLOOR] = exploration or 0.0
    return MonotoneBandit.from_arrays(arrays | {"how": how})


def bandit_of(data: bytes) -> MonotoneBandit:
    """The bandit in a model file."""
    kind, _, arrays = read_bytes(data, "the model")
    if kind != "bandit":
        raise ModelFileError(f"the model is a {kind}: give a bandit")
    bandit = MonotoneBandit.from_arrays(arrays)
    if not bandit.has_names and bandit.rounds:
        raise ModelFileError("the bandit knows rows of numbers without names: give one that knows features by name")
    bandit.forget_pending()
    return bandit


def learn_lines(bandit: MonotoneBandit, lines: bytes) -> int:
    """Learn decisions of another policy from JSON lines; how many could be learned, the others are left out."""
    rounds = 0
    numbered = enumerate(lines.decode().splitlines(), 1)
    for decision in read_jsonl(numbered, "the log", BadLines(1 << 30)):
        try:
            offer = decision.offer if decision.offer is not None else decision.contexts
            chance = decision.probability / decision.weight
            bandit.learn_logged(offer, decision.arm, chance, decision.reward, probabilities=decision.probabilities)
            rounds += 1
        except InvalidDataError:
            continue
    return rounds


def offer_of_request(request: DecideRequest, settings: LoopSettings) -> Offer:
    """The actions of a request as hashed features, by the project's one hash."""
    actions = [Action(one) if isinstance(one, str) else one for one in request.actions or ()]
    if settings.crossing == "ids":
        ids, features = [one.id for one in actions], [one.features for one in actions]
        return offer_of_record({"ids": ids, "features": features, "context": request.context})
    own: list[Any] = [{"arm": one.id} if one.features is None else one.features for one in actions]
    return offer_of_record({"features": own, "context": request.context})


def request_of(decision: DecisionRow) -> DecideRequest:
    """What was asked."""
    return _DECODE.decode(decision.body)


def toss_of(key: bytes, event_id: str) -> float:
    """The uniform draw in [0, 1) of an event: the same event of the same loop always has the same one.

    >>> 0.0 <= toss_of(bytes(32), "event") < 1.0
    True
    """
    digest = hashlib.blake2b(event_id.encode(errors="surrogatepass"), digest_size=8, key=key).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


def draw(probabilities: list[float], toss: float) -> int:
    """The place at which the running sum of the probabilities passes the toss; never one with probability 0.

    >>> draw([0.0, 0.25, 0.75], 0.1), draw([0.0, 0.25, 0.75], 0.3), draw([0.5, 0.0], 0.999)
    (1, 2, 0)
    """
    left, chosen = toss, -1
    for place, p in enumerate(probabilities):
        if p > 0.0:
            chosen = place
            if left < p:
                break
            left -= p
    return chosen
