"""The promise, in numbers: what the theory says about the rounds seen, and whether they contradict it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from massart import theory
from massart.kernels import halfspace as kernel
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
    rules: NDArray[np.float64],
    S: NDArray[np.float64],
    gaps: NDArray[np.float64],
    totals: NDArray[np.float64],
    confidence: float,
) -> Certificate:
    """The certificate of experts mixed by AdaHedge, class by class.

    An expert whose own mistakes contradict its own parameters says nothing. Of the others, the one with the smallest
    bound speaks for its class; the price of the mixture, 2 * gap, and of drawing an expert by chance, come on top.
    With several classes a wrong answer needs a wrong halfspace, so the bounds of the classes add up.
    """
    theory.check_confidence(confidence)
    classes = gaps.size
    experts = rules.shape[0] // classes
    doubt = (1 - confidence) / (classes * (experts + 1))
    chance = float(np.sqrt(0.5 * totals[kernel.TOTAL_WEIGHT2] * np.log(1 / doubt))) if experts > 1 else 0.0
    spoken: list[Certificate] = []
    holds = True
    for k in range(classes):
        own = range(k * experts, (k + 1) * experts)
        all_of_class = [certify(rules[c], S[c], 1 - doubt) for c in own]
        believable = [c for c in all_of_class if c.holds]
        holds = holds and bool(believable)
        spoken.append(_tightest(believable) if believable else _most_permissive(all_of_class))
    expected = sum(c.mistake_bound for c in spoken) + 2 * float(gaps.sum())
    surely = sum(c.confident_mistake_bound for c in spoken) + 2 * float(gaps.sum()) + classes * chance
    rounds = float(totals[kernel.TOTAL_WEIGHT])
    noise_rate = max(c.noise_rate for c in spoken)
    return Certificate(
        rounds=rounds,
        mistakes=float(totals[kernel.TOTAL_WRONG]),
        noise_rate=noise_rate,
        margin=min(c.margin for c in spoken),
        regret_bound=sum(c.regret_bound for c in spoken) + 2 * float(gaps.sum()),
        mistake_bound=expected,
        confident_mistake_bound=surely,
        confidence=confidence,
        holds=holds and bool(totals[kernel.TOTAL_WRONG] <= surely),
    )


def _tightest(certificates: Sequence[Certificate]) -> Certificate:
    return min(certificates, key=lambda c: c.mistake_bound)


def _most_permissive(certificates: Sequence[Certificate]) -> Certificate:
    return max(certificates, key=lambda c: (c.noise_rate, -c.margin))
