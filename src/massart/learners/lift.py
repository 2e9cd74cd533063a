"""Lift, promised and seen: what a bandit earns above a random arm."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from massart import theory
from massart.kernels import ranking as kernel


@dataclass(frozen=True)
class LiftCertificate:
    """Lift over a uniformly random arm, summed over the rounds learned.

    `guaranteed_lift` is what Theorem 11 of docs/theory.md promises in expectation, from the gradients really seen, if
    any two arms of a round differ by `gap` in expected reward and by `margin` in score. `observed_lift` is estimated
    from the rewards seen by inverse probability weighting; `low` and `high` are its normal interval at `confidence`.
    `holds` is False when the whole interval lies below the guarantee: the stream cannot be what was declared.
    """

    rounds: int
    gap: float
    margin: float
    guaranteed_lift: float
    observed_lift: float
    low: float
    high: float
    confidence: float
    holds: bool

    def __str__(self) -> str:
        """Three lines for people."""
        verdict = "agrees with that" if self.holds else "contradicts it: the gap or the margin is smaller than declared"
        return (
            f"{self.rounds:,} rounds, gap {self.gap:g}, margin {self.margin:g}\n"
            f"A lift of {self.guaranteed_lift:,.0f} over a random arm is promised.\n"
            f"The one seen, {self.observed_lift:,.0f} ({self.low:,.0f} to {self.high:,.0f}), {verdict}."
        )


def _interval(total: float, squares: float, rounds: float, z: float) -> tuple[float, float]:
    spread = z * float(np.sqrt(max(0.0, squares - total * total / max(rounds, 1.0))))
    return total - spread, total + spread


def certify_lift(
    S: NDArray[np.float64], t: NDArray[np.float64], shares: NDArray[np.float64], confidence: float
) -> LiftCertificate:
    """The certificate of a bandit: of its expert with the largest promise that its own rewards do not contradict.

    With several experts, what following them cost compared with that one, as far as the rewards tell, comes off the
    promise.
    """
    theory.check_confidence(confidence)
    z = float(norm.ppf(0.5 + confidence / 2))
    rounds = float(t[kernel.ROUNDS])
    promised = np.array(
        [
            S[kernel.DELTA, e] * S[kernel.KEPT, e] - theory.ftrl_regret(S[kernel.CAP, e], S[kernel.SQUARES, e])
            for e in range(S.shape[1])
        ]
    )
    lifts = zip(S[kernel.LIFT].tolist(), S[kernel.LIFT2].tolist(), strict=True)
    tops = np.array([_interval(total, squares, rounds, z)[1] for total, squares in lifts])
    believable = np.flatnonzero(tops >= promised)
    price = np.maximum(0.0, S[kernel.LIFT] - t[kernel.SEEN]) if S.shape[1] > 1 else np.zeros(1)
    among = believable if believable.size else np.arange(S.shape[1])
    speaker = int(among[np.argmax((promised - price)[among])])
    low, high = _interval(float(t[kernel.SEEN]), float(t[kernel.SEEN2]), rounds, z)
    guaranteed = float(promised[speaker] - price[speaker])
    return LiftCertificate(
        rounds=int(rounds),
        gap=float(S[kernel.DELTA, speaker]),
        margin=float(S[kernel.GAMMA, speaker]),
        guaranteed_lift=guaranteed,
        observed_lift=float(t[kernel.SEEN]),
        low=low,
        high=high,
        confidence=confidence,
        holds=bool(believable.size and high >= guaranteed),
    )
