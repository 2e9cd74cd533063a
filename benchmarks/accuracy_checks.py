"""What the project wants of `MassartClassifier()`, and by how much it is reached or missed."""

from dataclasses import dataclass, field
from typing import Any

import accuracy_peers as peers
import accuracy_runs as runs
import accuracy_streams as streams
import numpy as np
from accuracy_scores import Scores, Worlds

POINTS, RELATIVE = 0.005, 0.05  # above the best configuration of Vowpal Wabbit, whichever is more
HORIZON_RELATIVE = 0.02  # above the best horizon, where targets move
WORLD_POINTS = 0.02  # above the learner that was told noise rate and margin
HOSTILE = ("masked-margin", "sacrificed-minority", "sacrificed-majority", "hunted-minority", "hunted-majority")


@dataclass(frozen=True)
class Check:
    """One thing wanted, what was found instead, and the places where it is missed."""

    wanted: str
    found: str
    passed: bool
    details: list[str] = field(default_factory=list)

    def verdict(self, judged: bool) -> str:
        """PASS or miss; a dash when there were too few rows to judge."""
        return ("PASS" if self.passed else "miss") if judged else "-"

    def as_json(self, judged: bool) -> dict[str, Any]:
        """The same for programs."""
        return {"wanted": self.wanted, "found": self.found, "verdict": self.verdict(judged), "details": self.details}


def checks(scores: dict[str, Scores], worlds: Worlds) -> list[Check]:
    """All checks for which there are runs."""
    found = []
    for order, of_order in scores.items():
        if peers.OURS in of_order.learners and len(of_order.learners) > 1 and of_order.complete():
            found += [_rank(of_order, order), _vowpal(of_order, order), _best(of_order, order)]
    hostile = [
        name for name in HOSTILE if not np.isnan(worlds.error(name, runs.UNTOLD) - worlds.error(name, runs.TOLD))
    ]
    return [*found, _hostile(worlds, hostile)] if hostile else found


def drift_checks(scores: Scores) -> list[Check]:
    """Streams whose target moves: against the best horizon, and against others."""
    noise = streams.NONE.name
    names = [name for name, _ in scores.complete()]
    others = [name for name in scores.learners if name != peers.OURS and name not in peers.HORIZONS]
    if peers.OURS not in scores.learners or not names:
        return []
    found = []
    if any(name in scores.learners for name in peers.HORIZONS):
        above = {
            name: scores.error(name, noise, peers.OURS) / scores.best(name, noise, peers.HORIZONS) - 1 for name in names
        }
        missed = sorted((name for name in names if above[name] > HORIZON_RELATIVE), key=lambda name: -above[name])
        worst = max(names, key=lambda name: above[name])
        found.append(
            Check(
                f"Targets that move: at most {HORIZON_RELATIVE:.0%} above the best horizon.",
                f"{above[worst]:+.1%} at worst, {worst}; {np.mean(list(above.values())):+.1%} in the mean",
                not missed,
                [f"{name}: {above[name]:+.1%}" for name in missed],
            )
        )
    if others:
        behind = [name for name in names if scores.error(name, noise, peers.OURS) > scores.best(name, noise, others)]
        found.append(
            Check(
                "Targets that move: nobody else is better.",
                f"first on {len(names) - len(behind)} of {len(names)}",
                not behind,
                behind,
            )
        )
    return found


def _rank(scores: Scores, order: str) -> Check:
    ranks = scores.mean_ranks()
    ours = ranks.pop(peers.OURS)
    next_best = min(ranks, key=lambda name: ranks[name])
    return Check(
        f"{order} order: first in mean rank.",
        f"{ours:.2f}, and {next_best} {ranks[next_best]:.2f}: "
        + (
            f"{ranks[next_best] - ours:.2f} ahead"
            if ours < ranks[next_best]
            else f"{ours - ranks[next_best]:.2f} behind"
        ),
        ours < ranks[next_best],
    )


def _vowpal(scores: Scores, order: str) -> Check:
    """On no stream far above the configuration of Vowpal Wabbit that is best on that stream."""
    over = []
    names = [name for name in scores.complete() if not np.isnan(scores.best(*name, peers.VW))]
    for name in names:
        ours, best = scores.error(*name, peers.OURS), scores.best(*name, peers.VW)
        excess = ours - best - max(POINTS, RELATIVE * best)
        if excess > 0.0:
            over.append(
                (excess, f"{', '.join(name)}: {ours:.4f}, best of Vowpal Wabbit {best:.4f}, {excess:.4f} too much")
            )
    over.sort(reverse=True)
    return Check(
        f"{order} order: nowhere above the best of Vowpal Wabbit by more than {POINTS} and {RELATIVE:.0%}.",
        f"above on {len(over)} of {len(names)} streams" + (f", by {over[0][0]:.4f} at most" if over else ""),
        not over,
        [line for _, line in over],
    )


def _best(scores: Scores, order: str) -> Check:
    """Strictly better than everybody else on half of the streams."""
    others = [name for name in scores.learners if name != peers.OURS]
    names = scores.complete()
    won = sum(scores.error(*name, peers.OURS) < scores.best(*name, others) for name in names)
    short = (len(names) + 1) // 2 - won
    return Check(
        f"{order} order: better than every peer on half of the streams.",
        f"on {won} of {len(names)}" + (f", {short} too few" if short > 0 else ""),
        short <= 0,
    )


def _hostile(worlds: Worlds, names: list[str]) -> Check:
    excess = {name: worlds.error(name, runs.UNTOLD) - worlds.error(name, runs.TOLD) for name in names}
    over = {name: value for name, value in excess.items() if value > WORLD_POINTS}
    worst = max(excess, key=lambda name: excess[name])
    missing = [name for name in HOSTILE if name not in names]
    return Check(
        f"hostile worlds: within {WORLD_POINTS} of the learner that was told noise rate and margin.",
        f"on {len(names) - len(over)} of {len(names)}; at most {excess[worst]:+.4f}, in {worst}"
        + (f" (not run: {', '.join(missing)})" if missing else ""),
        not over,
        [f"{name}: {value:+.4f}, {value - WORLD_POINTS:.4f} too much" for name, value in over.items()],
    )
