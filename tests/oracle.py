"""The paper's Algorithm 1 and its sharper form in plain NumPy, line by line: short, slow, and meant to be believed.

The letters are the paper's. Rows come as they are learned: already scaled, with their constant coordinate.
"""

from dataclasses import dataclass, field

import numpy as np


def sign(t):
    """sign(0) = +1, in the prediction and in the gradient alike (erratum 8)."""
    return 1.0 if t >= 0 else -1.0


def project(w):
    """The nearest point of the unit ball."""
    return w / max(1.0, float(np.linalg.norm(w)))


def unit(x, constant):
    """A row with its constant coordinate, scaled to norm 1; an all-zero row stays as it is."""
    x = np.append(x, constant)
    norm = np.linalg.norm(x)
    return x / norm if norm > 0 else x


@dataclass
class PaperAlgorithm1:
    """Algorithm 1: gradient descent on the reweighted leaky-ReLU losses l(w) = C(w.x; y) / max(|w_t.x|, tau)."""

    d: int
    eta: float
    gamma: float
    T: int | None = None  # None: round t uses the parameters of horizon t
    w: np.ndarray = field(init=False)
    t: int = 0
    G: float = field(init=False)
    mistakes: float = 0.0

    def __post_init__(self):
        self.w = np.zeros(self.d)  # printed: e_1 (erratum 8)
        Delta, eps, tau = self.parameters(self.T or 1)
        self.G = (1 + Delta - eps) / (2 * tau)

    def parameters(self, T):
        Delta = 1 - 2 * self.eta
        eps = min(Delta / 2, 1 / np.sqrt(self.gamma * np.sqrt(T)))
        return Delta, eps, eps * self.gamma / 4  # line 1

    def round(self, x, y, c=1.0):
        self.t += 1
        T = self.T or self.t
        Delta, eps, tau = self.parameters(T)
        s = sign(self.w @ x)  # line 3b
        self.mistakes += s != y  # line 3c
        # line 3d: the gradient of l at w_t
        g = c * 0.5 * ((Delta - eps) * s - y) * x / max(abs(self.w @ x), tau)
        # line 3e: online gradient descent in the unit ball (diameter 2), step D / (G sqrt(T)) of Fact 2.4
        self.G = max(self.G, c * np.linalg.norm(x) * (1 + Delta - eps) / (2 * tau))
        score = self.w @ x
        self.w = project(self.w - 2 / (self.G * np.sqrt(T)) * g)
        return score


@dataclass
class InverseMargin:
    """The sharper form: g = 1/2 (Delta s - y) x / (|w.x| + gamma), fed to an optimiser of linear losses."""

    d: int
    eta: float
    gamma: float
    optimizer: str = "ftrl"
    step: float = 0.0
    w: np.ndarray = field(init=False)
    theta: np.ndarray = field(init=False)
    S: float = 0.0
    G: float = field(init=False)
    mistakes: float = 0.0

    def __post_init__(self):
        self.w = np.zeros(self.d)
        self.theta = np.zeros(self.d)
        self.G = (1 - self.eta) / self.gamma

    def round(self, x, y, c=1.0):
        score = self.w @ x
        s = sign(score)
        self.mistakes += s != y
        if self.optimizer == "ftrl":  # a row heavier than any before lowers w, not its sign, before the label is seen
            self.G = max(self.G, c * np.linalg.norm(x) * (1 - self.eta) / self.gamma)
            self.w = project(self.theta / np.sqrt(2 * (self.G**2 + self.S)))
        g = c * 0.5 * ((1 - 2 * self.eta) * s - y) * x / (abs(self.w @ x) + self.gamma)
        self.S += g @ g
        self.theta = self.theta - g
        if self.optimizer == "ftrl":
            self.w = project(self.theta / np.sqrt(2 * (self.G**2 + self.S)))
        elif self.optimizer == "fixed":
            self.w = self.w - self.step * g
        elif self.S > 0:
            self.w = project(self.w - np.sqrt(2 / self.S) * g)
        return score


class AdaHedge:
    """AdaHedge of de Rooij, van Erven, Gruenwald and Koolen (2014): weights, then losses, round by round."""

    def __init__(self, experts):
        self.L = np.zeros(experts)
        self.gap = 0.0

    def weights(self):
        if self.gap == 0:
            p = np.where(self.L.min() < self.L, 0.0, 1.0)
        else:
            p = np.exp(-(self.L - self.L.min()) * np.log(self.L.size) / self.gap)
        return p / p.sum()

    def round(self, losses):
        p, before = self.weights(), self.L.min()
        self.L = self.L + losses
        if self.gap == 0:
            mixed = self.L.min() - before
        else:
            rate = np.log(self.L.size) / self.gap
            mixed = -np.log(p @ np.exp(-rate * losses)) / rate
        self.gap += max(0.0, p @ losses - mixed)
        return p
