"""Time series of a loop for charts: rewards, lift, exploration, actions and delays, from the steps of its log.

A `LoopSeries` reads each step once and keeps sums over at most `_MOST` stretches of the log; when there are more, two
neighbours become one. So its memory is bounded, and a request costs as much as there are new steps.

Lift is estimated from decisions made online, by inverse probability weighting around the mean reward of the steps
before: with reward r, mean c, and p the probability of the action that was taken,

    over a random action:   r - (c + (r - c) / (p k))           k actions could be taken
    over the baseline:      r - (c + (r - c) / p if the action taken is the first one that could be taken)

Both have the lift as their conditional expectation, because c is known before the draw. Intervals are asymptotic
confidence sequences (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, Theorem 2.2): for a large number of
decisions they hold at every look at once, and a dashboard looks often.
"""

import math
import statistics
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from massart.learners.rounds import round_probabilities
from massart.service.model import request_of
from massart.service.store import DecisionRow, Step, Why
from massart.service.types import Action, LoopSettings

__all__ = ["ActionShares", "Delays", "LoopSeries", "Measured", "Series", "anytime_width"]

_MOST: Final = 80  # stretches
_NAMED: Final = 8  # actions with a share of their own
_KEPT: Final = 64  # actions counted in a stretch; the rarest of more become OTHERS
_LATEST: Final = 1000  # delays whose median is shown
OTHERS: Final = "(others)"
EDGES: Final = (1.0, 10.0, 60.0, 600.0, 3600.0, 86400.0)  # seconds, of the histogram of delays
_ERROR: Final = 0.05
_TUNED: Final = 1000.0  # decisions at which the intervals are about as narrow as they can be


class Measured(msgspec.Struct):
    """A mean, with an interval of 95% that holds at every look; None where nothing was counted."""

    value: float | None
    low: float | None
    high: float | None


class ActionShares(msgspec.Struct):
    """How often an action was taken in each stretch."""

    id: str
    shares: list[float]


class Delays(msgspec.Struct):
    """Seconds from a decision to its reward: counts below the first edge, between the edges, above the last."""

    edges: list[float]
    counts: list[int]
    median: float | None  # of the last thousand


class Series(msgspec.Struct):
    """What is known of a loop's steps, as columns: one entry per stretch of the log."""

    first_version: int  # steps up to this one are not counted
    version: int  # the last step that was counted
    complete: bool  # whether there are no later ones
    rounds: int  # decisions counted
    defaults: int  # of these without a reward
    reward: Measured
    lift_over_random: Measured
    lift_over_baseline: Measured
    exploration: float | None  # the probability of another action than the likeliest one, in the last stretches
    round: list[int]  # counted up to the end of each stretch
    time: list[float]  # of its last step, in seconds
    rewards: list[float]  # mean within each stretch
    explored: list[float]
    random: list[Measured]  # lift over a random action, over all up to the end of each stretch
    baseline: list[Measured]
    actions: list[ActionShares]
    delays: Delays


class _Stretch:
    """Sums over some steps in a row."""

    __slots__ = ("actions", "defaults", "explored", "online", "reward", "reward2", "rounds", "sums", "time")

    def __init__(self) -> None:
        self.rounds = self.online = self.defaults = self.time = 0
        self.reward = self.reward2 = self.explored = 0.0
        self.sums = [0.0, 0.0, 0.0, 0.0]  # lift over random, its squares, lift over the baseline, its squares
        self.actions: Counter[str] = Counter()

    def add(self, other: "_Stretch") -> None:
        """Become both."""
        self.rounds += other.rounds
        self.online += other.online
        self.defaults += other.defaults
        self.reward += other.reward
        self.reward2 += other.reward2
        self.explored += other.explored
        self.sums = [a + b for a, b in zip(self.sums, other.sums, strict=True)]
        self.actions.update(other.actions)
        self.trim()
        self.time = max(self.time, other.time)

    def trim(self) -> None:
        """Count rare actions together."""
        if len(self.actions) > 2 * _KEPT:
            named = [one for one in self.actions.most_common() if one[0] != OTHERS]
            rest = self.actions[OTHERS] + sum(count for _, count in named[_KEPT:])
            self.actions = Counter(dict(named[:_KEPT]) | {OTHERS: rest})


class LoopSeries:
    """The series of one loop, fed with its steps in their order."""

    def __init__(self, first_version: int = 0) -> None:
        self.first = self.version = first_version
        self._clear()

    def _clear(self) -> None:
        self._stretches: list[_Stretch] = []
        self._size = 1  # rounds in a stretch
        self._count, self._sum = 0, 0.0
        self._late: deque[float] = deque(maxlen=_LATEST)
        self._delays = [0] * (len(EDGES) + 1)

    def add(self, steps: Sequence[Step], decisions: Mapping[int, DecisionRow], settings: LoopSettings) -> None:
        """Count the next steps; `decisions` are those that they settle."""
        for step in steps:
            if step.version <= self.version:
                continue
            self.version = step.version
            if step.why in (Why.RESET, Why.MODEL):  # another model: its own series
                self._clear()
                self.first = step.version
            elif step.reward is not None and (step.decision or 0) in decisions:
                self._count_step(step, decisions[step.decision or 0], settings)

    def _count_step(self, step: Step, decision: DecisionRow, settings: LoopSettings) -> None:
        if not self._stretches or self._stretches[-1].rounds >= self._size:
            self._stretches.append(_Stretch())
            if len(self._stretches) > _MOST:
                self._join()
        one, reward = self._stretches[-1], float(step.reward or 0.0)
        p = round_probabilities(decision.round)
        one.rounds += 1
        one.time = max(one.time, step.time)
        one.reward += reward
        one.reward2 += reward * reward
        one.explored += 1.0 - float(p.max())
        one.actions[_action_id(decision, settings)] += 1
        one.trim()
        if decision.mode == "online":
            centre = self._sum / self._count if self._count else 0.0
            extra = (reward - centre) / float(p[decision.arm])
            free = p > 0.0
            over_random = reward - centre - extra / int(free.sum())
            over_baseline = reward - centre - (extra if decision.arm == int(np.argmax(free)) else 0.0)
            one.online += 1
            for place, value in enumerate((over_random, over_baseline)):
                one.sums[2 * place] += value
                one.sums[2 * place + 1] += value * value
        self._count, self._sum = self._count + 1, self._sum + reward
        if step.why == Why.DEFAULT:
            one.defaults += 1
        elif step.why == Why.REWARD:
            delay = max(0.0, (step.time - decision.time) / 1e6)
            self._late.append(delay)
            self._delays[sum(delay >= edge for edge in EDGES)] += 1

    def _join(self) -> None:
        """Half as many stretches, twice as long; the last one, which is empty, stays."""
        *full, last = self._stretches
        for left, right in zip(full[::2], full[1::2], strict=True):
            left.add(right)
        self._stretches, self._size = [*full[::2], last], 2 * self._size

    def series(self, complete: bool = True) -> Series:
        """All of it as columns."""
        done = [one for one in self._stretches if one.rounds]
        total, counted, rounds = _Stretch(), [], []
        for one in done:
            total.add(one)
            counted.append((total.online, list(total.sums)))
            rounds.append(total.rounds)
        latest = done[-max(1, len(done) // 20) :]
        seen = sum(one.rounds for one in latest)
        return Series(
            self.first, self.version, complete, total.rounds, total.defaults,
            measured(total.rounds, total.reward, total.reward2),
            measured(total.online, *total.sums[:2]),
            measured(total.online, *total.sums[2:]),
            sum(one.explored for one in latest) / seen if seen else None,
            rounds,
            [one.time / 1e6 for one in done],
            [one.reward / one.rounds for one in done],
            [one.explored / one.rounds for one in done],
            [measured(online, *sums[:2]) for online, sums in counted],
            [measured(online, *sums[2:]) for online, sums in counted],
            _shares(done, total.actions),
            Delays(list(EDGES), list(self._delays), statistics.median(self._late) if self._late else None),
        )  # fmt: skip


def _action_id(decision: DecisionRow, settings: LoopSettings) -> str:
    """The id of the action that was taken."""
    actions: Sequence[Action | str] = request_of(decision).actions or settings.actions or ()
    if decision.arm >= len(actions):  # of a loop that declared other actions then
        return f"[{decision.arm}]"
    action = actions[decision.arm]
    return action if isinstance(action, str) else action.id


def _shares(stretches: Sequence[_Stretch], total: Counter[str]) -> list[ActionShares]:
    """The actions that were taken most often, by name, then all others."""
    named = sorted([name for name, _ in total.most_common() if name != OTHERS][:_NAMED])
    found = [ActionShares(name, [one.actions[name] / one.rounds for one in stretches]) for name in named]
    rest = [1.0 - sum(one.actions[name] for name in named) / one.rounds for one in stretches]
    if any(share > 1e-12 for share in rest):
        found.append(ActionShares(OTHERS, [max(0.0, share) for share in rest]))
    return found


def measured(count: int, total: float, squares: float) -> Measured:
    """The mean of so many values with these sums, and its interval; below two values there is none.

    >>> measured(0, 0.0, 0.0), measured(4, 2.0, 1.0)
    (Measured(value=None, low=None, high=None), Measured(value=0.5, low=0.5, high=0.5))
    """
    if count == 0:
        return Measured(None, None, None)
    mean = total / count
    if count == 1:
        return Measured(mean, None, None)
    width = anytime_width(count) * math.sqrt(max(0.0, squares / count - mean * mean))
    return Measured(mean, mean - width, mean + width)


def anytime_width(count: int) -> float:
    """Half of the interval's width after so many values of standard deviation 1.

    >>> round(anytime_width(1000), 3), round(anytime_width(100_000), 4)
    (0.096, 0.0113)
    """
    a = -2.0 * math.log(_ERROR)
    rho2 = (a + math.log(a + 1.0)) / _TUNED
    reach = count * rho2 + 1.0
    return math.sqrt(2.0 * reach / (count * count * rho2) * math.log(math.sqrt(reach) / _ERROR))
