"""Tables of the bandit benchmark, as Markdown, and what its results are compared with."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import bandit_runs as runs
import bandit_tasks as tasks
import numpy as np
from run_journal import Record
from scipy.stats import rankdata

# Lifts per round that the default policy should reach in worlds: after 2,000 rounds what four experts, without a
# regression beside them, earn in the mean of 10 seeds.
WANTED = {
    2_000: {"linear": 0.308, "sorted": 0.376, "simpson": 0.013, "step-maps": 0.127, "hard-pairs": 0.130,
            "hard-pairs-simpson": 0.071, "hunted-pairs": 0.095},
    20_000: {"simpson": 0.095, "step-maps": 0.298, "hard-pairs": 0.311, "hard-pairs-simpson": 0.125,
             "hunted-pairs": 0.260, runs.ADVERSARY: 0.03},
}  # fmt: skip
_SMALL = ("linucb-disjoint-small", "linucb-small")


def _means(records: Sequence[Record]) -> dict[tuple[str, str, int], dict[str, float]]:
    """The mean score over seeds of each policy, on each data set and kind, or in each world and horizon."""
    found: dict[tuple[str, str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record["score"] is not None:
            found[record["data"], record["kind"], record["rounds"]][record["policy"]].append(record["score"])
    return {task: {policy: float(np.mean(each)) for policy, each in by.items()} for task, by in found.items()}


def tables(records: Sequence[Record]) -> dict[str, Any]:
    """Mean score and mean rank of each policy by kind, the number of data sets, and lifts in worlds.

    Only data sets on which every policy has a score count, so that all are compared on the same.
    """
    means = _means(records)
    present = [name for name in runs.COMPARED if any(name in by for by in means.values())]
    kinds: dict[str, Any] = {}
    for kind in tasks.KINDS:
        complete = [by for (_, found, _), by in means.items() if found == kind and len(by) == len(present)]
        if complete:
            scores = np.array([[by[name] for name in present] for by in complete])
            ranks = np.array([rankdata(-row) for row in scores])
            kinds[kind] = {
                "sets": len(complete),
                "mean": dict(zip(present, scores.mean(axis=0).tolist(), strict=True)),
                "rank": dict(zip(present, ranks.mean(axis=0).tolist(), strict=True)),
            }
    worlds = {(name, rounds): by for (name, kind, rounds), by in means.items() if kind == runs.WORLD}
    return {"policies": present, "kinds": kinds, "worlds": worlds}


def _number(value: float | None) -> str:
    """Three digits without the leading zero.

    >>> _number(0.7581), _number(-0.0574), _number(None)
    ('.758', '-.057', '')
    """
    return "" if value is None else f"{value:.3f}".replace("0.", ".", 1)


def _bold(text: str, best: bool) -> str:
    return f"**{text}**" if best else text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def markdown(found: dict[str, Any]) -> str:
    """The tables for docs/benchmarks.md: best means and ranks are bold."""
    lines: list[str] = []
    kinds, present, worlds = found["kinds"], found["policies"], found["worlds"]
    if kinds:
        counts = ", ".join(f"{kind} {by['sets']}" for kind, by in kinds.items())
        lines += [f"Mean over data sets, and mean rank of {len(present)} (data sets: {counts}).", ""]
        lines += [_line(["policy", *kinds]), _line(["---"] * (1 + len(kinds)))]
        for name in present:
            cells = []
            for by in kinds.values():
                mean, rank = by["mean"][name], by["rank"][name]
                first = _number(mean), f"{rank:.1f}"
                best = mean == max(by["mean"].values()), rank == min(by["rank"].values())
                cells.append(
                    " / ".join(f"**{text}**" if bold else text for text, bold in zip(first, best, strict=True))
                )
            lines.append(_line([f"`{name}`", *cells]))
        lines.append("")
    for horizon in runs.HORIZONS:
        columns = [name for name, rounds in worlds if rounds == horizon]
        if columns:
            lines += [f"Lift per round over a random arm after {horizon:,} rounds.", ""]
            lines += [_line(["policy", *columns]), _line(["---"] * (1 + len(columns)))]
            lines += [
                _line([f"`{name}`", *(_number(worlds[world, horizon].get(name)) for world in columns)])
                for name in present
            ]
            lines.append("")
    return "\n".join(lines)


def checks(found: dict[str, Any], records: Sequence[Record]) -> list[tuple[str, bool, str]]:
    """What the default policy should reach: its name, whether it does, and the numbers."""
    made: list[tuple[str, bool, str]] = []
    ours = runs.OURS
    for kind, by in found["kinds"].items():
        mean, rank = by["mean"], by["rank"]
        if ours not in mean or len(mean) == 1:
            continue
        others = {name: value for name, value in mean.items() if name != ours}
        best = max(others, key=others.__getitem__)
        if kind == "clean":
            small = max((mean[name] for name in _SMALL if name in mean), default=None)
            if small is not None:
                numbers = f"{mean[ours]:.3f}, {small:.3f}"
                made.append((f"{kind}: LinUCB(.1) - .003", mean[ours] >= small - 0.003, numbers))
        elif kind == "items":
            made.append((f"{kind}: best peer - .01", mean[ours] >= others[best] - 0.01, _against(mean, best)))
        elif kind in tasks.EFFECTS:
            if runs.CENTRED in mean:
                wanted = 1.5 * mean[runs.CENTRED]
                made.append((f"{kind}: 1.5 x action-centred", mean[ours] >= wanted, f"{mean[ours]:.3f}, {wanted:.3f}"))
            scores = [r["score"] for r in records if r["kind"] == kind and r["policy"] == ours]
            above = float(np.mean([score is not None and score > 0.0 for score in scores]))
            made.append((f"{kind}: above 0 in 90% of runs", above >= 0.9, f"{above:.0%} of {len(scores)}"))
            continue
        else:
            made.append((f"{kind}: first in mean", mean[ours] > others[best], _against(mean, best)))
        if kind != "items":
            second = min((name for name in rank if name != ours), key=rank.__getitem__)
            numbers = f"{rank[ours]:.1f}, {second} {rank[second]:.1f}"
            made.append((f"{kind}: first in mean rank", rank[ours] < rank[second], numbers))
    for (world, rounds), by in found["worlds"].items():
        wanted = WANTED.get(rounds, {}).get(world)
        if wanted is not None and ours in by:
            made.append((f"{world}, {rounds} rounds", by[ours] >= wanted, f"{by[ours]:.3f}, {wanted:.3f}"))
    return made


def _against(mean: dict[str, float], best: str) -> str:
    return f"{mean[runs.OURS]:.3f}, {best} {mean[best]:.3f}"
