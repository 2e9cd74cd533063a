"""Algorithms 2 and 3 of the paper and the sharper step on pairs in plain NumPy: short, slow, and easy to check.

The letters are the paper's. A round is given as X, one row per arm that may be played, and a uniform number `toss`.
"""

from dataclasses import dataclass, field

import numpy as np


def sign(t):
    """sign(0) = +1 (erratum 17)."""
    return np.where(np.asarray(t) >= 0, 1.0, -1.0)


def project(w):
    """The nearest point of the unit ball."""
    return w / max(1.0, float(np.linalg.norm(w)))


def pairs(X, v, r, alpha, rho):
    """Algorithm 2, lines 1 and 3(a): X_{alpha-j}, z_j and y_j for all j other than alpha."""
    x, y = np.delete(X[alpha] - X, alpha, axis=0), np.delete(r[alpha] - r, alpha)
    size = np.linalg.norm(v)
    return x, x + rho * np.outer(sign(x @ v), v / size) if size > 0 else x, y


def loss(w, X, v, r, alpha, Delta, rho, Lambda):
    """Algorithm 2: G(w; X, v, r, alpha)."""
    x, z, y = pairs(X, v, r, alpha, rho)
    if not v.any():
        return -Lambda * np.sum(x @ w * y)  # line 2
    return np.sum((Delta * np.abs(z @ w) - y * (z @ w)) / 2 / np.abs(z @ v))  # line 3(b)


def gradient(w, X, v, r, alpha, Delta, rho, Lambda):
    """The gradient of G in w."""
    x, z, y = pairs(X, v, r, alpha, rho)
    if not v.any():
        return -Lambda * y @ x
    return ((Delta * sign(z @ w) - y) / 2 / np.abs(z @ v)) @ z


def fake_rewards(k, beta, r, M):
    """Algorithm 3, line 2(e)ii: from the one reward r of arm beta."""
    fake = np.full(k, M - r)
    fake[beta] = (k - 1) * r
    return fake


@dataclass
class PaperAlgorithm3:
    """Algorithm 3 with gradient descent in the unit ball, step 2 / (G sqrt(T)); rewards in [0, M].

    k may change: losses are multiplied by 2 (1 - q) / k, and G by the same, which is no change if k stays.
    """

    d: int
    Delta: float
    gamma: float
    T: float
    M: float = 1.0
    floor: float = 0.0
    w: np.ndarray = field(init=False)
    G: float = 0.0

    def __post_init__(self):
        self.w = np.eye(self.d)[0]  # line 1

    def parameters(self, k):
        """Lambda and q of the proof of Theorem 1.10 (erratum 24), rho of Lemma 3.4, and G (erratum 19)."""
        Lambda = (np.sqrt(self.T) * self.M / (k * self.Delta)) ** (1 / 3) / self.gamma
        q = max(self.floor, min(1.0, self.M / (self.gamma * Lambda * self.Delta)))
        rho = self.gamma / 2
        G = (k - 1) * (self.Delta + (k - 1) * self.M) * (2 + rho) / (2 * rho)
        return Lambda, q, rho, max(G, 2 * (k - 1) ** 2 * self.M * Lambda) / q

    def probabilities(self, X):
        k = len(X)
        if k == 1:
            return np.ones(1)
        q = self.parameters(k)[1]
        sure = np.eye(k)[np.argmax(X @ self.w)] if self.w.any() else np.full(k, 1 / k)
        return (1 - q) * sure + q / k

    def coins(self, X, toss):
        """Lines 2(b) to 2(e)i: alpha, and beta on HEADS or None, from one uniform number."""
        k = len(X)
        q = self.parameters(k)[1] if k > 1 else 0.0
        heads = toss < q
        place = k * (toss / q if heads else (toss - q) / (1 - q))
        alpha = int(np.argmax(X @ self.w))
        if not self.w.any():
            alpha = int(place % 1 * k) if heads else int(place)
        return alpha, int(place) if heads else None

    def learn(self, X, alpha, beta, r):
        """Lines 2(e)ii to 2(g), the reward of beta being r; on TAILS there is nothing to learn."""
        k = len(X)
        if beta is None or k == 1:
            return
        Lambda, q, rho, G = self.parameters(k)
        part = 2 / k * max(1 - q, 1e-9)
        g = part / q * gradient(self.w, X, self.w, fake_rewards(k, beta, r, self.M), alpha, self.Delta, rho, Lambda)
        self.G = max(self.G, part * G)
        self.w = project(self.w - 2 / (self.G * np.sqrt(self.T)) * g)


@dataclass
class PairExpert:
    """One learner with its own gap and margin: dual averaging in the unit ball."""

    d: int
    Delta: float
    gamma: float
    theta: np.ndarray = field(init=False)
    G: float = 0.0
    S: float = 0.0
    lift: float = 0.0

    def __post_init__(self):
        self.theta = np.zeros(self.d)

    @property
    def w(self):
        return project(self.theta / np.sqrt(2 * (self.G**2 + self.S))) if self.theta.any() else self.theta


@dataclass
class InverseMarginArms:
    """Theorem 11 of docs/theory.md for several experts, exponential weights on their estimated lifts."""

    d: int
    grid: list  # (Delta, gamma)
    T: float | None = None  # None: every round explores as if it were the last
    lowest: float = 0.0
    highest: float = 1.0
    floor: float = 0.0
    relative: bool = False  # gamma in units of the longest context
    longest: float = 0.0
    rounds: int = 0
    spread: float = 0.0

    def __post_init__(self):
        self.experts = [PairExpert(self.d, *pair) for pair in self.grid]
        self.b = (self.lowest + self.highest) / 2

    def shares(self):
        lifts = np.array([e.lift for e in self.experts])
        rate = np.sqrt(np.log(len(lifts)) / self.spread) if self.spread > 0 else 0.0
        weights = np.exp(rate * (lifts - lifts.max()))
        return weights / weights.sum()

    def plan(self, X, longest=0.0):
        """For every expert (a, m, q), and the probabilities p; `longest` is that of arms that may not be played."""
        k, M, T = len(X), self.highest - self.lowest, self.T or self.rounds + 1
        self.longest = max(self.longest, np.linalg.norm(X, axis=1).max(), longest)
        unit, plans, p = self.longest if self.relative else 1.0, [], np.zeros(k)
        for expert, share in zip(self.experts, self.shares(), strict=True):
            a, gamma, q = int(np.argmax(X @ expert.w)), expert.gamma * unit, 0.0
            m = (X[a] - X) @ expert.w + gamma
            if k > 1:
                rate = np.sqrt(2 * k / (k - 1)) * M / (2 * expert.gamma * expert.Delta * np.sqrt(T))  # Theorem 10
                q = min(0.5, rate ** (2 / 3)) * gamma / unit
                q *= np.sqrt(np.sum(np.sum((X[a] - X) ** 2, axis=1) / m**2) / (4 * (k - 1)))  # Theorem 11
                q = min(1.0, max(self.floor, q)) if (X[a] != X).any() else 1.0  # equal contexts: a random arm
            plans.append((a, m, q))
            p += share * ((1 - q) * np.eye(k)[a] + q / k)
        return plans, p, self.shares()

    def learn(self, X, plan, arm, r):
        """The played arm's reward is r."""
        (plans, p, shares), k = plan, len(X)
        seen = (r - self.b) / p[arm] * np.eye(k)[arm]
        lifts = np.array([seen[a] - seen.mean() for a, _, _ in plans])
        self.spread += shares @ (lifts - shares @ lifts) ** 2
        width = max(self.highest - self.b, self.b - self.lowest)
        for expert, lift, (a, m, q) in zip(self.experts, lifts, plans, strict=True):
            expert.lift += lift
            z, y = X[a] - X, seen[a] - seen
            others = np.arange(k) != a
            g = (1 - q) / k * ((expert.Delta - y) / m * others) @ z
            reach = np.linalg.norm(z, axis=1) / m * others
            most = max(reach.sum() / p[a], np.max(reach / p))  # the longest part that a reward could add
            expert.G = max(expert.G, (1 - q) / k * (expert.Delta * reach.sum() + width * most))
            expert.S += g @ g
            expert.theta = expert.theta - g
        self.rounds += 1
        self.b += (r - self.b) / (self.rounds + 1)
