"""Many halfspaces and one master (section 7 of docs/theory.md): the price of not knowing the parameters.

Every expert sees every label, so the master's problem is prediction with expert advice. A draw from AdaHedge's shares
exceeds the best expert's mistakes by one price; Prod with a default, which follows draws or a vote, adds another.

Prices are for rounds that weigh 1. For AdaHedge and Prod with rounds of any weights, the heaviest c: divide
weights and losses by c, and multiply the price by c.
"""

import math
from collections.abc import Iterable

from massart.errors import InvalidParameterError
from massart.theory.conditions import (
    check_experts,
    check_margin,
    check_mistakes,
    check_noise_rate,
    check_nonnegative,
    check_rounds,
)
from massart.theory.halfspace import ftrl_mistake_bound

__all__ = [
    "adahedge_price",
    "discounted_rounds",
    "forgetting_mistake_bound",
    "hedge_known_horizon_price",
    "hedge_price",
    "log_loss_price",
    "pool_mistake_bound",
    "prod_default_price",
    "prod_price",
]

_LAZINESS = 17.0 / 16.0  # the pool sets a rate anew when what it depends on has grown by a sixteenth


def hedge_price(experts: int, rounds: float) -> float:
    """Theorem 7(a) of docs/theory.md: Hedge with learning rate 2 sqrt(ln N / t), anytime: sqrt(T ln N).

    >>> round(hedge_price(experts=40, rounds=10_000), 1)
    192.1
    """
    return math.sqrt(check_rounds(rounds) * math.log(check_experts(experts)))


def hedge_known_horizon_price(experts: int, rounds: float) -> float:
    """Theorem 7(a) of docs/theory.md: Hedge with learning rate sqrt(8 ln N / T): sqrt(T ln N / 2).

    >>> round(hedge_known_horizon_price(experts=40, rounds=10_000), 1)
    135.8
    """
    return math.sqrt(0.5 * check_rounds(rounds) * math.log(check_experts(experts)))


def adahedge_price(experts: int, rounds: float, best_loss: float, laziness: float = 1.0) -> float:
    """Theorem 7(b) of docs/theory.md: AdaHedge of de Rooij, van Erven, Grünwald and Koolen (2014).

    2 sqrt(k L (1 - L/T) ln N) + (16/3) k ln N + 2,  L = min(best_loss, T/2), for losses in [0, 1]
    whose best expert loses `best_loss`, or is known to lose no more.  Nothing for a single expert.
    `laziness` k is the factor by which AdaHedge's gap may outgrow the one that its rate was set for:
    1 is AdaHedge itself, 17/16 the library's pool.

    >>> round(adahedge_price(experts=40, rounds=10_000, best_loss=100), 1)
    59.9
    >>> round(adahedge_price(experts=40, rounds=10_000, best_loss=100, laziness=17 / 16), 1)
    62.3
    """
    count, horizon = check_experts(experts), check_rounds(rounds)
    # L (1 - L/T) falls beyond T/2; its largest value below an upper bound on the loss is what is safe
    loss = min(check_mistakes(best_loss, horizon), 0.5 * horizon)
    if check_nonnegative("laziness", laziness) < 1.0:
        raise InvalidParameterError(f"laziness must satisfy laziness >= 1; got {laziness!r}. 1 is AdaHedge itself.")
    if count == 1 or horizon == 0.0:
        return 0.0
    log = laziness * math.log(count)
    return 2.0 * math.sqrt(loss * (1.0 - loss / horizon) * log) + 16.0 / 3.0 * log + 2.0


def prod_default_price(split: float) -> float:
    """Theorem 7(d) of docs/theory.md: what Prod over two experts loses to its default.

    2 ln 2 + ln(1 + D) / (2 e).  `split` D is the sum over rounds of the squared difference of the two
    (expected) losses, at most the number of rounds.

    >>> round(prod_default_price(split=10_000), 2)
    3.08
    """
    return 2.0 * math.log(2.0) + math.log1p(check_nonnegative("split", split)) / (2.0 * math.e)


def prod_price(split: float) -> float:
    """Theorem 7(d) of docs/theory.md: what Prod over two experts loses to the one that is not its default.

    2 s ln(2 s - 1) + (4/5) sqrt(D) + prod_default_price(D),  s = sqrt(1 + D).  `split` as there.

    >>> round(prod_price(split=10_000))
    1142
    """
    square = check_nonnegative("split", split)
    root = math.sqrt(1.0 + square)
    return 2.0 * root * math.log(2.0 * root - 1.0) + 0.8 * math.sqrt(square) + prod_default_price(square)


def log_loss_price(experts: int, rounds: float) -> float:
    """Theorem 22 of docs/theory.md: ln N + ln T, what a mixture by Bayes' rule loses beyond each of N forecasters.

    The loss is -ln of the probability given to the label; after round t the mixture shares 1 / (t + 1) of all weight
    equally, which is what ln T pays for.

    >>> round(log_loss_price(experts=60, rounds=10_000), 2)
    13.3
    """
    return math.log(check_experts(experts)) + math.log(max(1.0, check_rounds(rounds)))


def pool_mistake_bound(
    noise_rate: float, margin: float, rounds: float, grid: Iterable[tuple[float, float]], experts: int | None = None
) -> float:
    """Theorem 7(e) of docs/theory.md: E[M] of the library's pool, with learners of Theorem 1(b) on a grid.

    min over (p, g) in grid with p >= noise_rate and g <= margin of B = ftrl_mistake_bound(p, g, T),
    plus adahedge_price(experts, T, B, 17/16) + prod_price(T), nothing for a single expert.  `grid`
    holds the (noise_rate, margin) pairs of the experts; `experts` counts the whole pool, when others
    than those of the grid sit in it.  The last term is for the worst stream: draws and the vote
    differ in every round.

    >>> grid = [(p, g) for p in (0.05, 0.15, 0.3, 0.45) for g in (1 / 16, 1 / 128)]
    >>> round(pool_mistake_bound(0.15, 0.1, 10**6, grid, experts=16) - 150_000)
    25714
    """
    noise, gamma, count = check_noise_rate(noise_rate), check_margin(margin), check_rounds(rounds)
    pairs = list(grid)
    bounds = [ftrl_mistake_bound(p, g, count) for p, g in pairs if p >= noise and g <= gamma]
    if not bounds:
        raise InvalidParameterError(
            f"the grid holds no pair with noise_rate >= {noise_rate!r} and margin <= {margin!r}; "
            "only such an expert has a mistake bound: add one"
        )
    members = len(pairs) if experts is None else check_experts(experts)
    if members < len(pairs):
        raise InvalidParameterError(f"experts must count at least the {len(pairs)} of the grid; got {experts!r}")
    best = min(bounds)
    if members == 1:
        return best
    return best + adahedge_price(members, count, min(best, count), _LAZINESS) + prod_price(count)


def discounted_rounds(rounds: float, horizon: float) -> float:
    """Theorem 7(f) of docs/theory.md: T rounds, each weighing b = exp(-1 / horizon) times the one after it.

    1 + b + ... + b^(T-1) = (1 - b^T) / (1 - b), below horizon + 1.

    >>> round(discounted_rounds(rounds=10_000, horizon=500), 1)
    500.5
    """
    count, memory = check_rounds(rounds), check_rounds(horizon, name="horizon", smallest=1.0)
    return math.expm1(-count / memory) / math.expm1(-1.0 / memory)


def forgetting_mistake_bound(noise_rate: float, margin: float, rounds: float, horizon: float) -> float:
    """Theorem 7(f) of docs/theory.md: E[M] of Theorem 1(b)'s learner when it forgets.

    noise_rate T + ((1 - b) T + b) Z,  b = exp(-1 / horizon), where Z is what Theorem 1(b) allows over
    the noise rate for discounted_rounds(T, horizon) rounds: it is paid once per horizon.

    >>> round(forgetting_mistake_bound(0.1, 0.5, rounds=10**6, horizon=10_000) - 10**5)
    9220
    """
    count, effective = check_rounds(rounds), discounted_rounds(rounds, horizon)
    excess = ftrl_mistake_bound(noise_rate, margin, effective) - noise_rate * effective
    new = -math.expm1(-1.0 / horizon)
    return noise_rate * count + (new * count + 1.0 - new) * excess
