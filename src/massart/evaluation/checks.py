"""What makes an evaluation mean little: too little weight, weights that cannot be, rewards that are all alike."""

import numpy as np

from massart.evaluation.estimators import Estimate
from massart.evaluation.log import WeightedLog
from massart.evaluation.results import FEW

__all__ = ["is_enough", "log_notes", "warnings_of"]

_LARGE_SHARE = 0.1  # of the weight, for one decision
_FAR = 4.0  # standard errors between the mean weight and 1


def is_enough(seen: WeightedLog) -> bool:
    """Whether intervals for large n may be looked at: 100 effective decisions, and a mean weight of 1 up to chance.

    Where the log hardly ever took the arms that the policy plays, a log may have many decisions of equal, small
    weights, and none of those that would matter: only the mean weight shows it.
    """
    return seen.effective_sample_size >= FEW and not _is_off(_mean_weight(seen), len(seen))


def _mean_weight(seen: WeightedLog) -> Estimate:
    return Estimate("mean weight", seen.row_weights * seen.weights, seen.row_weights).grouped(seen.slates)


def _is_off(mean: Estimate, decisions: int) -> bool:
    return decisions > 1 and abs(mean.value - 1.0) > _FAR * mean.standard_error + 1e-6


def warnings_of(seen: WeightedLog) -> list[str]:
    """Sentences about a log seen through a policy."""
    found = [*_of_propensities(seen), *seen.warnings]
    if seen.bad_lines:
        left = "line of the log is bad and was" if seen.bad_lines == 1 else "lines of the log are bad and were"
        found.append(
            f"{seen.bad_lines:,} {left} left out: if that depends on the arm or on the reward, every estimate is biased"
        )
    effective, share = seen.effective_sample_size, seen.largest_share
    unseen = np.flatnonzero(seen.weights == 0.0)
    if unseen.size == len(seen):
        found.append(
            f"the policy gives probability 0 to the arm taken in all {len(seen):,} decisions: the log says nothing "
            "about what it earns"
        )
    elif effective < FEW:
        found.append(
            f"these {len(seen)} decisions are worth {effective:.1f} drawn by the policy itself (effective sample "
            f"size below {FEW:g}): the estimates mean little"
        )
    if share > _LARGE_SHARE and unseen.size < len(seen):
        line = seen.lines[int(np.argmax(seen.weights * seen.row_weights))]
        which = f", in line {line}," if line else ""
        found.append(f"one decision{which} carries {share:.0%} of the weight: the estimates depend on it")
    check = _mean_weight(seen)
    if _is_off(check, len(seen)):
        found.append(
            f"the mean weight is {check.value:.3g} where it should be 1: the propensities are not the ones played, or "
            "the policy prefers arms that were never logged"
        )
    if len(seen) > 1 and bool((seen.rewards == seen.rewards[0]).all()):
        found.append(
            f"all {len(seen):,} rewards are {seen.rewards[0]:g}: is the reward logged as it came? It cannot "
            "distinguish policies"
        )
    return found


def _of_propensities(seen: WeightedLog) -> list[str]:
    if seen.estimated:
        return [
            "no propensities were logged, and these are ESTIMATED from which arms were taken: every number below is "
            "biased if the choice depended on anything but the features and chance; no interval includes their error"
        ]
    played = seen.propensities
    if played is not None and (played == 1.0).all() and np.diff(seen.starts).max() > 1 and not seen.is_logged:
        return [
            "every arm taken had probability 1: such a log explores nothing, and nothing can be said about a policy "
            "that takes other arms"
        ]
    return []


def log_notes(seen: WeightedLog) -> list[str]:
    """What was left out, and how positions were taken."""
    notes = [f"{count} {reason} were left out" for reason, count in sorted(seen.skipped.items())]
    if seen.positions is not None or seen.slates is not None:
        notes.append(
            "positions: a policy fills each position on its own, and the reward of a position is taken to depend on "
            "the arm there and not on the others"
        )
        if seen.slates is None:
            notes.append(
                "positions: the log does not say which decisions were shown together, so they are taken as "
                "independent; name the column of the list (`slate`) for intervals that do not need that"
            )
    return notes
