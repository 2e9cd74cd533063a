"""Learners that went on from one state on different rows become one: docs/scale.md derives what that keeps.

`sums_of` says by how much a learner has changed, in numbers that add up: gradients, information, losses, counts.
`added` adds the changes of two, in any grouping, and `mixed` is the state from which one learner goes on. Nothing here
depends on the order in which changes arrive, if they are added in a fixed one.

    weights      of learners with a mistake bound: their sums of gradients add up, and so do the squares of these, so
                 that the regret on the path, which the certificate needs, is that of all rows.
                 Of diagonal experts: V is the inverse of an information L, which adds up. A learner with pull p has
                 come the share f = 1 - (L / L')^p of the way to what its rows wanted when L has become L'. What all
                 together would have done in turn is the share of their common information: the sum of the changes is
                 multiplied by the ratio of that share to the sum of the single ones. With little news that is 1.
    full matrix  AROW's is a Kalman filter: the information and its product with the mean add up, exactly.
    centred      means and deviations are those of all rows; weights as above, with steps that fall as 1 / sqrt(t).
    recent       what the vote by recent mistakes knows, and the weights of experts that forget: the means.
    mixture      losses of the experts, AdaHedge's gaps, Prod's lead and its variance add up; rates follow from them.
"""

from collections.abc import Callable
from math import sqrt
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from massart.errors import InvalidParameterError
from massart.kernels.learning import halfspace, mixture, pool
from massart.kernels.learning.elementary import exp, log
from massart.kernels.learning.expert_weights import RIDGE
from massart.kernels.learning.halfspace import Rule, State
from massart.kernels.learning.mixture import Member, Total
from massart.kernels.learning.pool import Column, Setting
from massart.kernels.learning.recent_vote import Lead, Recent, compare
from massart.learners.merging_few import few_changes, mixed_few
from massart.learners.packed import Packed, union, updated

__all__ = ["Sample", "Sums", "added", "check_mergeable", "mixed", "sums_of"]

_PULLS: Final = (1.0, 0.25, 4.0, 1.0)  # of the diagonal experts: their pace times the curvature of their loss
_PLAIN_PULL: Final = 4.0
_FIRST_SHRINK: Final = 1.0 + 4.0 / RIDGE  # information after the first change of a variance, in units of the first
_MOST: Final = 1e300

_STATE_SUMS: Final = (
    *(State.ROUNDS, State.MISTAKES, State.WEIGHT, State.WEIGHT2, State.WRONG, State.SCALED),
    *(State.LINEAR, State.SPREAD, State.INVERSE, State.POSITIVES, State.STEPPED, State.SLACK),
)
_STATE_MAXIMA: Final = (State.CAP, State.HEAVIEST, State.LONGEST2, State.UNPROVED)
_COLUMN_SUMS: Final = (Column.SCALED, Column.LINEAR, Column.SPREAD, Column.INVERSE)
_TOTAL_SUMS: Final = (
    *(Total.ROUNDS, Total.MISTAKES, Total.WEIGHT, Total.WEIGHT2, Total.WRONG, Total.EXPECTED, Total.DRAWN),
    *(Total.VOTED, Total.HEARD, Total.TIGHT, Total.COINS, Total.POSITIVES),
)
_RECENT: Final = ("recent", "lead", "forgetting")  # of the vote by recent mistakes, in pools that have one
_TOTAL_MAXIMA: Final = (Total.HEAVIEST, Total.LONGEST2, Total.UNPROVED)


class Sample(NamedTuple):
    """Of some rows: their number, the columns that occur, ascending, and the sums of x and x^2 of each."""

    rows: int
    numbers: NDArray[np.uint32]
    moments: NDArray[np.float64]  # (columns, 2)

    def with_rows(self, other: "Sample") -> "Sample":
        """Of both."""
        numbers = union(self.numbers, other.numbers)
        moments = np.zeros((numbers.size, 2))
        for one in (self, other):
            moments[np.searchsorted(numbers, one.numbers)] += one.moments
        return Sample(self.rows + other.rows, numbers, moments)


class Sums(NamedTuple):
    """Changes of one or more learners that began with one state."""

    learners: int
    change: Packed | None  # of one: its state, to be taken as it is
    width: int
    numbers: NDArray[np.uint32]  # columns that one of them has changed
    tables: dict[str, NDArray[np.float64]]  # sums of the changes; rows as in `Packed`
    sums: dict[str, Any]  # what adds up
    maxima: dict[str, Any]
    sample: Sample  # of the rows that were learned


def check_mergeable(kind: str, arrays: Any) -> None:
    """Refuse learners for which there is no mixture."""
    if kind == "halfspace" and arrays["rule"][Rule.KIND] not in (halfspace.FTRL, halfspace.FIXED):
        raise InvalidParameterError(
            "shards of learners with update='paper' or optimizer='adagrad-norm' have no mixture, as their sums of "
            "gradients are not kept: leave these out, or learn all rows with one learner"
        )
    if kind not in _KINDS:
        what = {
            "drifting": "a learner that forgets (`horizon`)",
            "groups": "a learner of groups",
            "products": "products of columns",
        }
        raise InvalidParameterError(
            f"there is no mixture of shards for {what.get(kind, 'more than two classes')}: learn all rows with one "
            "learner, without shards"
        )


def sums_of(kind: str, base: Packed, change: Packed, sample: Sample) -> Sums:
    """By how much a learner of this kind changed from `base` on; `change` by `massart.learners.packed.changed`."""
    tables = {name: rows - base.rows(name, change.numbers) for name, rows in change.tables.items()}
    sums, maxima = _KINDS[kind].changes(base, change)
    if "variances" in tables:
        tables |= _information(base.rows("variances", change.numbers), change.tables["variances"])
        del tables["variances"]
    tables["count"] = np.ones(change.numbers.size + 1)
    return Sums(1, change, change.width, change.numbers, tables, sums, maxima, sample)


def added(first: Sums, second: Sums) -> Sums:
    """The changes of both."""
    numbers = union(first.numbers, second.numbers)
    tables = {}
    for name in first.tables:
        both = [_spread(one, name, numbers) for one in (first, second)]
        tables[name] = np.minimum(*both) if name == "low" else both[0] + both[1]
    sums = {name: value + second.sums[name] for name, value in first.sums.items()}
    maxima = {name: np.maximum(value, second.maxima[name]) for name, value in first.maxima.items()}
    width = max(first.width, second.width)
    sample = first.sample.with_rows(second.sample)
    return Sums(first.learners + second.learners, None, width, numbers, tables, sums, maxima, sample)


def _spread(one: Sums, name: str, numbers: NDArray[np.uint32]) -> NDArray[np.float64]:
    """A table with rows for more columns."""
    table = one.tables[name]
    if numbers.size == one.numbers.size:  # of which these are a part
        return table
    found = np.full((numbers.size + 1, *table.shape[1:]), np.inf if name == "low" else 0.0)
    found[np.append(np.searchsorted(numbers, one.numbers), numbers.size)] = table
    return found


def mixed(kind: str, base: Packed, sums: Sums) -> Packed:
    """The state from which one learner goes on; that of a single learner is its own, bit for bit."""
    if sums.change is not None:
        return updated(base, sums.change)
    tables, small = _KINDS[kind].mixed(base, sums)
    whole = updated(base, Packed(sums.width, sums.numbers, tables, small))
    return whole._replace(small=_KINDS[kind].settled(whole))


def _information(before: NDArray[np.float64], after: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Of variances: what was gained; of columns that had none, all of it, the least of it and whether there is any."""
    old, new = _inverse_of(before), _inverse_of(after)
    fresh = old == 0.0
    known = np.where(fresh & (new > 0.0), 1.0, 0.0)
    return {"gain": np.maximum(new - old, 0.0), "known": known, "low": np.where(known > 0.0, new, np.inf)}


def _inverse_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / value, and 0 of 0."""
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(np.divide(1.0, values, out=np.zeros(values.shape), where=values > 0.0), _MOST))


def _mixed_halfspace(base: Packed, sums: Sums) -> Any:
    """Averaged where several have changed a column, and so are the squares of the gradients."""
    weights = base.rows("weights", sums.numbers) + sums.tables["weights"] / np.maximum(sums.tables["count"], 1.0)
    state = base.small["state"].copy()
    state[list(_STATE_SUMS)] += sums.sums["state"][list(_STATE_SUMS)]
    state[State.SQUARES] += sums.sums["state"][State.SQUARES] / sums.learners
    state[list(_STATE_MAXIMA)] = sums.maxima["state"][list(_STATE_MAXIMA)]
    state[State.FIRST] = state[State.FIRST] or sums.maxima["state"][State.FIRST]
    state[State.UNPROVED] = 1.0
    return {"weights": weights}, {"rule": base.small["rule"], "state": state}


def _settled_halfspace(whole: Packed) -> dict[str, Any]:
    """Norm and scale of the summed gradients, as kernels/learning/halfspace.py has them."""
    rule, state = whole.small["rule"], whole.small["state"]
    state[State.NORM2] = np.square(whole.tables["weights"]).sum(axis=0)
    if rule[Rule.KIND] == halfspace.FTRL:
        state[State.SCALE] = 1.0 / sqrt(max(2.0 * (state[State.CAP] ** 2 + state[State.SQUARES]), state[State.NORM2]))
    return whole.small


def _halfspace_changes(base: Packed, change: Packed) -> Any:
    state = change.small["state"]
    return {"state": state - base.small["state"]}, {"state": state}


def _pool_changes(base: Packed, change: Packed) -> Any:
    then, now = base.small, change.small
    t, old = now["totals"], then["totals"]
    rounds = t[Total.ROUNDS] - old[Total.ROUNDS]
    sums: dict[str, Any] = {
        "columns": now["columns"] - then["columns"],
        "losses": now["members"][Member.LOSS] - then["members"][Member.LOSS],
        "powers": _heard(now) - _heard(then),
        "totals": t - old,
        "gap": _gap(now) - _gap(then),
        "lead": _lead(t) - _lead(old),
        "split": t[Total.SPLIT] * t[Total.HEAVIEST] ** 2 - old[Total.SPLIT] * old[Total.HEAVIEST] ** 2,
        "trend": rounds * t[Total.TREND],
        "roots": sqrt(t[Total.WEIGHT]) - sqrt(old[Total.WEIGHT]),
    }
    sums |= {f"array {name}": now[name] - then[name] for name in _RECENT if name in now}
    if "full" in now:
        sums |= few_changes(then, now)
    return sums, {"totals": t, "columns": now["columns"]}


def _heard(small: dict[str, Any]) -> NDArray[np.float64]:
    return np.asarray(small["members"][Member.POWER] * small["totals"][Total.HEARD])


def _gap(small: dict[str, Any]) -> float:
    members = small["members"]
    return float(mixture.gap_of(members, small["totals"], members.shape[1]))


def _lead(t: NDArray[np.float64]) -> float:
    """By how much draws have done better than the vote, as far as Prod has counted."""
    return float(log(float(t[Total.FAVOUR])) / t[Total.PRIOR] * t[Total.HEAVIEST])


def _mixed_pool(base: Packed, sums: Sums) -> Any:
    weights, variances = _mixed_weights(base, sums)
    old, extra = base.small, sums.sums
    columns = old["columns"].copy()
    columns[list(_COLUMN_SUMS)] += extra["columns"][list(_COLUMN_SUMS)]
    columns[Column.SQUARES] += extra["columns"][Column.SQUARES] / sums.learners
    columns[Column.CAP] = sums.maxima["columns"][Column.CAP]
    t = old["totals"].copy()
    t[list(_TOTAL_SUMS)] += extra["totals"][list(_TOTAL_SUMS)]
    t[list(_TOTAL_MAXIMA)] = sums.maxima["totals"][list(_TOTAL_MAXIMA)]
    t[Total.FIRST] = t[Total.FIRST] or sums.maxima["totals"][Total.FIRST]
    t[Total.TREND] = min(1.0, max(-1.0, extra["trend"] / max(1.0, extra["totals"][Total.ROUNDS])))
    t[Total.UNPROVED] = 1.0
    members = old["members"].copy()
    members[Member.LOSS] += np.maximum(extra["losses"], 0.0)
    heard = np.maximum(_heard(old) + extra["powers"], 0.0)
    members[Member.POWER] = heard / max(t[Total.HEARD], mixture.LEAST)
    _set_prod(t, _lead(old["totals"]) + extra["lead"], old["totals"], extra["split"])
    gap = _gap(old) + max(0.0, extra["gap"])
    small = old | {"columns": columns, "totals": t, "members": members, "gap": np.array(gap)}
    small |= {name: old[name] + extra[f"array {name}"] / sums.learners for name in _RECENT if name in old}
    if "full" in old:
        small |= mixed_few(old, extra, sums.learners, t)
    return {"weights": weights, "variances": variances}, small


def _mixed_weights(base: Packed, sums: Sums) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights and variances of the columns that changed."""
    weights, changes = base.rows("weights", sums.numbers), sums.tables["weights"]
    shares, means = _sampled(sums, float(base.small["how"][Setting.BIAS]))
    factors, variances = _factors(base.rows("variances", sums.numbers), sums.tables, shares)
    for column in range(changes.shape[1]):
        own, diagonal = changes[:, column], column < pool.DIAGONAL
        done = own * factors[column if diagonal else -1]
        # The score of the mean row moves by the mean of what it moved by in the shards, and no further.
        way = means * variances if diagonal else means
        reach = float((way * means).sum())
        excess = float(((done - own / sums.learners) * means).sum())
        weights[:, column] += done - way * (excess / reach) if reach > 0.0 else done
    if not base.small["how"][Setting.BIAS]:
        weights[-1] = 0.0
    without = np.flatnonzero(base.small["columns"][Column.CONSTANT, pool.DIAGONAL :] == 0.0) + pool.DIAGONAL
    weights[-1, without] = 0.0
    return weights, variances


def _sampled(sums: Sums, bias: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each column, how common it is, E[x]^2 / E[x^2], and its mean, in a sample; the constant is in every row."""
    shares, means = np.zeros(sums.numbers.size + 1), np.zeros(sums.numbers.size + 1)
    rows, numbers, moments = sums.sample
    at = np.searchsorted(sums.numbers, numbers)
    there = at < sums.numbers.size
    there[there] = sums.numbers[at[there]] == numbers[there]
    mean, square = moments[there, 0] / max(1, rows), moments[there, 1] / max(1, rows)
    means[at[there]], means[-1] = mean, bias
    shares[at[there]] = np.divide(np.square(mean), square, out=np.zeros(mean.size), where=square > 0.0)
    shares[-1] = 1.0 if bias else 0.0
    return shares, means


def _set_prod(t: NDArray[np.float64], lead: float, old: NDArray[np.float64], split: float) -> None:
    """Prod's rate and weights: kernels/learning/mixture.py, `_set_prod_rate`."""
    heaviest = float(t[Total.HEAVIEST])
    if heaviest == 0.0:
        return
    t[Total.SPLIT] = max(0.0, old[Total.SPLIT] * old[Total.HEAVIEST] ** 2 + split) / heaviest**2
    prior = min(float(old[Total.PRIOR]), 0.5 / sqrt(1.0 + t[Total.SPLIT]))
    t[Total.PRIOR] = prior
    t[Total.FAVOUR] = exp(max(-600.0, min(600.0, prior * lead / heaviest)))
    t[Total.CHANCE] = prior * t[Total.FAVOUR] / (prior * t[Total.FAVOUR] + 1.0 - prior)


def _settled_pool(whole: Packed) -> dict[str, Any]:
    """Norms and scales of the learners with a mistake bound, and the shares of all."""
    small = dict(whole.small)
    columns, members, t = small["columns"], small["members"], small["totals"]
    plain = slice(pool.DIAGONAL, columns.shape[1])
    norms = np.square(whole.tables["weights"][:, plain]).sum(axis=0)
    columns[Column.NORM2, plain] = norms
    squares = 2.0 * (np.square(columns[Column.CAP, plain]) + columns[Column.SQUARES, plain])
    columns[Column.SCALE, plain] = 1.0 / np.sqrt(np.maximum(squares, norms))
    mixture.share(members, t, members.shape[1], float(small.pop("gap")))
    if "recent" in small:
        _settle_recent(small["recent"], small["lead"], members, t)
    return small


def _settle_recent(recent: Any, lead: Any, members: Any, t: Any) -> None:
    """Recent mistakes are means over the shards; they are counted from here on."""
    experts = members.shape[1]
    np.maximum(recent, 0.0, out=recent)  # differences are rounded
    recent[Recent.THEN, :experts] = members[Member.LOSS]
    recent[Recent.THEN, experts:] = recent[Recent.SUM, experts:]
    lead[Lead.WEIGHT_THEN] = t[Total.WEIGHT]
    lead[[Lead.SPLIT, Lead.WEIGHT, Lead.TOTAL]] = np.maximum(lead[[Lead.SPLIT, Lead.WEIGHT, Lead.TOTAL]], 0.0)
    compare(t, lead)


def _factors(
    before: NDArray[np.float64], tables: dict[str, NDArray[np.float64]], common: NDArray[np.float64]
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """What the changes of the diagonal experts and, last, of the plain ones are multiplied by; and the variances."""
    old, count = _inverse_of(before), np.maximum(tables["count"], 1.0)
    known, gain = tables["known"], tables["gain"]
    fresh = known > 0.0
    first = np.where(fresh, tables["low"] / _FIRST_SHRINK, old)
    with np.errstate(over="ignore", invalid="ignore"):
        more = np.where(fresh, np.maximum(gain - known * first, 0.0), gain)
        total = np.minimum(np.nan_to_num(first + more, nan=_MOST, posinf=_MOST), _MOST)
        news = np.divide(more, first, out=np.zeros(more.shape), where=first > 0.0)
        news = np.minimum(np.nan_to_num(news, nan=_MOST, posinf=_MOST), _MOST)
        shared = np.minimum(_PLAIN_PULL * news * (1.0 + common * np.sum(common)), _MOST)
    pulls = [_PULLS[k] if k < len(_PULLS) else 1.0 for k in range(pool.DIAGONAL)]
    each = [*(pull * news for pull in pulls), shared]
    return [(1.0 + one / count) / (1.0 + one) for one in each], _inverse_of(total)


class _Kind(NamedTuple):
    changes: Callable[[Packed, Packed], Any]
    mixed: Callable[[Packed, Sums], Any]
    settled: Callable[[Packed], dict[str, Any]]


_KINDS: Final = {
    "halfspace": _Kind(_halfspace_changes, _mixed_halfspace, _settled_halfspace),
    "experts": _Kind(_pool_changes, _mixed_pool, _settled_pool),
}
