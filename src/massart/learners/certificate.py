"""The promise, in numbers: what the theory says about the rounds seen, and whether they contradict it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.kernels import halfspace as kernel
from massart.kernels import mixture, pool
from massart.learners.rules import deviation, regret_bound


@dataclass(frozen=True)
class Certificate:
    """What is promised for the rounds seen if labels lie with probability at most `noise_rate` at margin `margin`.

        E[mistakes] <= mistake_bound = noise_rate * rounds + regret_bound
        P(mistakes <= confident_mistake_bound) >= confidence

    Both use the gradients really seen, so they are far below the worst case of `massart.theory`. Rounds and
    mistakes are sums of sample weights when those were given. With more than two classes the bounds of the
    halfspaces, one per class, add up: `noise_rate` is then the largest of theirs, `margin` the smallest.
    `holds` is False when the mistakes exceed the confident bound: the stream cannot be what was declared. The
    confidence is that of one look at a number of rounds fixed beforehand; who looks at every round and stops at the
    first False has to ask for more of it.
    """

    rounds: float
    mistakes: float
    noise_rate: float
    margin: float
    regret_bound: float
    mistake_bound: float
    confident_mistake_bound: float
    confidence: float
    holds: bool

    def charged(self, price: float, mistakes: float) -> "Certificate":
        """For whoever made these mistakes by following this learner at a price."""
        paid = max(0.0, price)
        surely = self.confident_mistake_bound + paid
        return replace(
            self,
            mistakes=mistakes,
            regret_bound=self.regret_bound + paid,
            mistake_bound=self.mistake_bound + paid,
            confident_mistake_bound=surely,
            holds=self.holds and mistakes <= surely,
        )

    def __str__(self) -> str:
        """Three lines for people."""
        verdict = (
            "The mistakes agree with that."
            if self.holds
            else "They contradict it: this stream cannot be what you declared; raise noise_rate or lower margin."
        )
        return (
            f"{self.mistakes:,.0f} mistakes in {self.rounds:,.0f} rounds\n"
            f"With noise_rate {self.noise_rate:g} and margin {self.margin:g}: at most {self.mistake_bound:,.0f} "
            f"expected, {self.confident_mistake_bound:,.0f} with probability {self.confidence:g}.\n"
            f"{verdict}"
        )


def certify(rule: NDArray[np.float64], s: NDArray[np.float64], confidence: float) -> Certificate:
    """The certificate of one halfspace."""
    theory.check_confidence(confidence)
    noise_rate, regret = float(rule[kernel.ETA]), regret_bound(rule, s)
    expected = noise_rate * float(s[kernel.WEIGHT]) + regret
    surely = expected + deviation(rule, s, confidence)
    return Certificate(
        rounds=float(s[kernel.WEIGHT]),
        mistakes=float(s[kernel.WRONG]),
        noise_rate=noise_rate,
        margin=float(rule[kernel.GAMMA]),
        regret_bound=regret,
        mistake_bound=expected,
        confident_mistake_bound=surely,
        confidence=confidence,
        holds=bool(s[kernel.WRONG] <= surely),
    )


def certify_mixture(
    how: NDArray[np.float64],
    S: NDArray[np.float64],
    M: NDArray[np.float64],
    t: NDArray[np.float64],
    plain: int,
    confidence: float,
) -> Certificate:
    """The certificate of a pool: that of an expert with a promise, plus the price paid for not knowing which.

    An expert whose own mistakes contradict its own parameters says nothing. Of the others, the one with the smallest
    sum speaks: its bound, and what the answers were expected to lose beyond its mistakes. Theorem 7 of docs/theory.md
    bounds that price beforehand when voting is "sample"; here it is measured.
    """
    theory.check_confidence(confidence)
    own, doubt = _own(how, S, M, t, plain, confidence)
    coins = how[pool.VOTING] == mixture.SAMPLE
    chance = float(np.sqrt(0.5 * t[mixture.WEIGHT2] * np.log(1 / doubt))) if coins else 0.0
    price = {k: max(0.0, float(t[mixture.EXPECTED] - M[mixture.LOSS, k])) for k in own}
    believable = [k for k in own if own[k].holds]
    if believable:
        speaker = min(believable, key=lambda k: own[k].mistake_bound + price[k])
    else:
        speaker = max(own, key=lambda k: (own[k].noise_rate, -own[k].margin))
    spoken = own[speaker]
    surely = spoken.confident_mistake_bound + price[speaker] + chance
    return Certificate(
        rounds=float(t[mixture.WEIGHT]),
        mistakes=float(t[mixture.WRONG]),
        noise_rate=spoken.noise_rate,
        margin=spoken.margin,
        regret_bound=spoken.regret_bound + price[speaker],
        mistake_bound=spoken.mistake_bound + price[speaker],
        confident_mistake_bound=surely,
        confidence=confidence,
        holds=bool(believable and t[mixture.WRONG] <= surely),
    )


def least_noise_rate(
    how: NDArray[np.float64], S: NDArray[np.float64], M: NDArray[np.float64], t: NDArray[np.float64], plain: int
) -> float:
    """The smallest noise rate of an expert whose mistakes do not contradict it (confidence 0.99); 0.5 if none."""
    own, _ = _own(how, S, M, t, plain, 0.99)
    return min((certificate.noise_rate for certificate in own.values() if certificate.holds), default=0.5)


def _own(
    how: NDArray[np.float64],
    S: NDArray[np.float64],
    M: NDArray[np.float64],
    t: NDArray[np.float64],
    plain: int,
    confidence: float,
) -> tuple[dict[int, Certificate], float]:
    """The certificates of the experts with a promise, by column; each may fail with the probability also returned."""
    doubt = (1 - confidence) / (plain + 1)  # one for each of them, one for the coins
    columns = range(pool.DIAGONAL, pool.DIAGONAL + plain)
    return {k: certify(*_alone(how, S, M, t, k), 1 - doubt) for k in columns}, doubt


def _alone(
    how: NDArray[np.float64], S: NDArray[np.float64], M: NDArray[np.float64], t: NDArray[np.float64], column: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rule and state of an expert as if it had learned alone."""
    rule, s = np.zeros(kernel.RULE_SIZE), np.zeros(kernel.STATE_SIZE)
    rule[[kernel.KIND, kernel.UNIT, kernel.BIAS]] = kernel.FTRL, how[pool.UNIT], how[pool.BIAS]
    rule[[kernel.ETA, kernel.GAMMA]] = S[[pool.ETA, pool.GAMMA], column]
    s[[kernel.SQUARES, kernel.CAP]] = S[[pool.SQUARES, pool.CAP], column]
    s[kernel.WRONG] = M[mixture.LOSS, column]
    s[[kernel.ROUNDS, kernel.WEIGHT, kernel.WEIGHT2]] = t[[mixture.ROUNDS, mixture.WEIGHT, mixture.WEIGHT2]]
    s[[kernel.HEAVIEST, kernel.LONGEST2]] = t[[mixture.HEAVIEST, mixture.LONGEST2]]
    return rule, s


def certify_classes(classes: Sequence[Certificate], wrong: float, confidence: float) -> Certificate:
    """The certificate of one halfspace per class: a wrong answer needs a wrong halfspace, so their bounds add up."""
    theory.check_confidence(confidence)
    surely = sum(c.confident_mistake_bound for c in classes)
    return Certificate(
        rounds=classes[0].rounds,
        mistakes=wrong,
        noise_rate=max(c.noise_rate for c in classes),
        margin=min(c.margin for c in classes),
        regret_bound=sum(c.regret_bound for c in classes),
        mistake_bound=sum(c.mistake_bound for c in classes),
        confident_mistake_bound=surely,
        confidence=confidence,
        holds=all(c.holds for c in classes) and wrong <= surely,
    )
