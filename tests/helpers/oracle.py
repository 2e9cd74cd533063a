"""The paper's Algorithm 1 and its sharper form in plain NumPy, line by line: short, slow, and easy to check.

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


class Path:
    """What Theorem 12 adds up along the path: every number that a certificate needs, from its definition."""

    def __init__(self, d):
        self.G = np.zeros(d)  # sum of g, whose norm is the largest -<sum g, w*>
        self.linear = self.spread = self.inverse = 0.0

    def add(self, g, w, eta, gamma, m, c, heavy, length):
        """A round with gradient g at weights w, of weight c, at most `heavy` before the label was seen."""
        self.G = self.G + g
        self.linear += g @ w
        a = heavy * (gamma + length) / m  # the most that chance can add
        self.spread += eta * (1 - eta) * a * a
        self.inverse += c * gamma / m

    @property
    def regret(self):
        """The largest regret against a point of the unit ball."""
        return self.linear + np.linalg.norm(self.G)


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
    class_weight: tuple[float, float] = (1.0, 1.0)  # of the labels -1 and +1
    length: float | None = None  # of every row, if they are all scaled

    def __post_init__(self):
        self.path = Path(self.d)
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
        heavy, c = c * max(self.class_weight), c * self.class_weight[int(y > 0)]
        # line 3d: the gradient of l at w_t
        m = max(abs(self.w @ x), tau)
        g = c * 0.5 * ((Delta - eps) * s - y) * x / m
        # line 3e: online gradient descent in the unit ball (diameter 2), step D / (G sqrt(T)) of Fact 2.4
        length = np.linalg.norm(x)
        self.G = max(self.G, heavy * length * (1 + Delta - eps) / (2 * tau))
        self.path.add(g, self.w, self.eta + eps / 2, tau, m, c, heavy, self.length or length)
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
    class_weight: tuple[float, float] = (1.0, 1.0)  # of the labels -1 and +1; eta is that of weighted mistakes
    length: float | None = None  # of every row, if they are all scaled

    def __post_init__(self):
        self.path = Path(self.d)
        self.w = np.zeros(self.d)
        self.theta = np.zeros(self.d)
        self.G = (1 - self.eta) / self.gamma

    def round(self, x, y, c=1.0):
        score = self.w @ x
        s = sign(score)
        self.mistakes += s != y
        heavy, c = c * max(self.class_weight), c * self.class_weight[int(y > 0)]
        length = np.linalg.norm(x)
        if self.optimizer == "ftrl":  # a row heavier than any before lowers w, not its sign, before the label is seen
            self.G = max(self.G, heavy * length * (1 - self.eta) / self.gamma)
            self.w = project(self.theta / np.sqrt(2 * (self.G**2 + self.S)))
        m = abs(self.w @ x) + self.gamma
        g = c * 0.5 * ((1 - 2 * self.eta) * s - y) * x / m
        self.path.add(g, self.w, self.eta, self.gamma, m, c, heavy, self.length or length)
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


LEAST, LEAST_FEATURE = 1e-200, 1e-100  # squares below that count as that, of scores and of features


def coin(seed, number):
    """The `number`-th output of SplitMix64 with this seed, as a uniform number in [0, 1)."""
    h = (seed + number * 0x9E3779B97F4A7C15) % 2**64
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    h = (h ^ (h >> 27)) * 0x94D049BB133111EB % 2**64
    return ((h ^ (h >> 31)) >> 11) / 2**53


class Prod:
    """Prod with a default (Theorem 7(d) of docs/theory.md): rate `prior` in units of the heaviest row, and a lead."""

    def __init__(self):
        self.heaviest, self.split, self.prior, self.lead = 0.0, 0.0, 0.5, 0.0

    @property
    def favour(self):
        """By how much the other adviser weighs more than at first."""
        return np.exp(self.prior * self.lead / self.heaviest) if self.heaviest > 0 else 1.0

    @property
    def chance(self):
        """Probability of following the other adviser, not the default."""
        return self.prior * self.favour / (self.prior * self.favour + 1 - self.prior)

    def convene(self, heaviest):
        self.split *= (self.heaviest / heaviest) ** 2
        self.heaviest = heaviest
        self.prior = min(self.prior, 0.5 / np.sqrt(1 + self.split))
        self.lead = heaviest / self.prior * np.clip(self.prior * self.lead / heaviest, -600, 600)

    def weigh(self, c):
        if c > self.heaviest:
            self.convene(c)

    def compare(self, default, other, c):
        """Both lost a part of c."""
        split = c * (default - other) / self.heaviest
        self.lead += self.heaviest / self.prior * np.log(1 + self.prior * split)
        self.split += split**2
        if 4 * self.prior**2 * (1 + self.split) > 17 / 16:
            self.convene(self.heaviest)


class Mixture(Prod):
    """mixture.py: AdaHedge with a lazy rate, the vote of scores, and Prod with a default; attributes as its totals.

    Shares come from all losses, anew in every round: nothing is multiplied up.
    """

    def __init__(self, experts, sample=True, seed=0):
        super().__init__()
        self.sample, self.seed = sample, seed
        self.loss, self.power, self.size = np.zeros(experts), np.zeros(experts), np.ones(experts)
        self.rounds, self.mistakes = 0, 0
        self.weight = self.weight2 = self.wrong = self.coins = self.first = self.positives = 0.0
        self.expected = self.drawn = self.voted = 0.0
        self.gap = self.rate = self.drawn_then = self.best_then = self.doubt = self.next = self.heard = 0.0
        self.total_then = float(experts)

    def shares(self):
        """Up to a factor; the leader had 1 when the rate was set."""
        ahead = self.loss - self.best_then
        return np.exp(-self.rate * ahead) if self.gap > 0 else np.where(ahead == 0, 1.0, 0.0)

    def grown_gap(self):
        """What draws lost less what the mixture lost, from the losses: no share can vanish."""
        if self.gap == 0:
            return 0.0
        best = self.loss.min()
        total = np.exp(-self.rate * (self.loss - best)).sum()
        mixed = best - self.best_then - np.log(total / self.total_then) / self.rate
        return max(self.gap, self.gap + self.drawn - self.drawn_then - mixed)

    def set_rate(self, gap):
        self.gap, self.rate = gap, np.log(self.loss.size) / gap if gap > 0 else 0.0
        self.best_then, self.drawn_then, self.doubt, self.next = self.loss.min(), self.drawn, 0.0, 17 / 16 * self.rounds
        known = np.where(self.power > 0, self.power, self.power.max())  # no score yet: as large as anybody's
        self.size = np.where(known > 0, np.sqrt(np.maximum(known, LEAST)), 1.0)
        self.total_then = self.shares().sum()

    def round(self, scores, y, c=1.0, heavy=None):
        """Answer, then learn; return the score of the answer. The weight c is at most `heavy`, whatever the label."""
        self.weight += c
        self.weight2 += c * c
        self.positives += c * (y > 0)
        heavy = c if heavy is None else heavy
        self.first = self.first if self.rounds else heavy
        self.weigh(heavy)
        shares, chance = self.shares(), self.chance
        vote = shares / self.size @ scores
        given, toss = vote / shares.sum(), coin(self.seed, self.rounds)
        if self.sample and toss < chance:
            p = np.cumsum(shares) / shares.sum()
            e = min(int(np.searchsorted(p, toss / chance, side="right")), p.size - 1)
            given = scores[e] / (np.sqrt(max(self.power[e], LEAST)) if self.power[e] > 0 else 1.0)

        miss = ((scores >= 0) != (y > 0)).astype(float)
        wrong, missed, before = shares @ miss / shares.sum(), float((vote >= 0) != (y > 0)), self.loss.min()
        self.loss = self.loss + c * miss
        self.rounds += 1
        self.mistakes += (given >= 0) != (y > 0)
        self.wrong += c * ((given >= 0) != (y > 0))
        self.drawn += c * wrong
        self.voted += c * missed
        expected = chance * wrong + (1 - chance) * missed if self.sample else missed
        self.expected += c * expected
        self.coins += c**2 * expected * (1 - expected)

        self.compare(missed, wrong, c)
        if self.rounds % 8 == 0 or self.rounds < 64:
            self.heard += c
            self.power += (np.minimum(scores**2, 1e300) - self.power) * c / self.heard

        if self.gap == 0:
            self.set_rate(max(0.0, wrong * c - (self.loss.min() - before)))
            return given
        self.doubt += min(wrong * c, self.rate * c * c / 8)
        due = self.rounds > self.next or self.shares().sum() < 1e-100
        if 16 * self.doubt > self.gap or due:
            gap = self.grown_gap()
            self.doubt = gap - self.gap
            if 16 * self.doubt > self.gap or due:
                self.set_rate(gap)
        return given


class Pool:
    """kernels/learning/pool.py for dense rows: the experts one by one, each as it is usually written down."""

    def __init__(self, d, grid, *, normalize=True, intercept=1.0, sample=True, seed=0, few=True, classes=(1.0, 1.0)):
        self.unit, self.bias, self.few, self.classes = normalize, float(intercept), few, classes
        self.V, self.diagonal = np.zeros(d + 1), np.zeros((d + 1, 4))
        self.plain = [InverseMargin(d + 1, eta, gamma, class_weight=classes) for eta, gamma, _ in grid]
        self.constant = [constant for *_, constant in grid]
        self.scaled = np.zeros(4 + len(grid))  # sums of c * scale, for the averages,
        self.summed = np.zeros((d + 1, 4 + len(grid)))  # and of c * w, which are what they are for
        self.F, self.full = np.zeros((d + 1, d + 1)), np.zeros(d + 1)
        self.mean, self.spread, self.centred = np.zeros(d), np.zeros(d), np.zeros((3, d + 1))
        self.trend, self.tight, self.longest2 = 0.0, 0, 0.0
        self.mixture = Mixture(4 + len(grid) + 1 + (4 if few else 0), sample, seed)

    @staticmethod
    def scale(plain):
        return 1 / max(np.sqrt(2 * (plain.G**2 + plain.S)), np.linalg.norm(plain.theta))

    def round(self, x, y, c=1.0):
        """Answer, then learn, one row without its constant; return the score of the answer."""
        m, bare, x = self.mixture, np.append(x, 0.0), np.append(x, self.bias)
        # as the plain experts learn it, with its constant and without
        short = [unit(row[:-1], row[-1]) if self.unit else row for row in (bare, x)]
        own = [short[int(constant)] for constant in self.constant]
        self.longest2 = max(self.longest2, short[1] @ short[1])
        sample, heavy, c = c, c * max(self.classes), c * self.classes[int(y > 0)]
        for e, row in zip(self.plain, own, strict=True):  # the caps cover the row
            e.G = max(e.G, heavy * np.linalg.norm(row) * (1 - e.eta) / e.gamma)
            e.w = self.scale(e) * e.theta
        self.scaled += c * np.append(np.ones(4), [self.scale(e) for e in self.plain])
        self.summed += c * np.column_stack([self.diagonal, *(e.w for e in self.plain)])

        scores = [*(x @ self.diagonal), *(e.w @ x for e in self.plain), (self.bias != 0) * self.trend]
        deviation = np.sqrt(self.spread / m.weight) if m.weight > 0 else np.zeros(x.size - 1)
        known = deviation > LEAST
        z = np.append(np.where(known, (x[:-1] - self.mean) / np.where(known, deviation, 1), 0), self.bias != 0)
        if self.few:
            scores += [np.clip(self.full @ x, -1e150, 1e150), *(self.centred @ z)]
        scores = np.array(scores)
        given = m.round(scores, y, c, heavy)

        self.learn_diagonal(x, y, c, scores[:4])
        for e, row in zip(self.plain, own, strict=True):
            e.round(row, y, sample)
        self.trend += (y - self.trend) / 16
        if self.few:
            self.learn_centred(x, y, c, z, scores[-3:])
            self.learn_full(x, y, c, scores[-4])
        return given

    def learn_diagonal(self, x, y, c, scores):
        """AROW's step on the squared hinge loss at two paces, on the logistic loss at two others."""
        first = 1 / np.maximum(x * x, LEAST_FEATURE)
        V = np.where(self.V > 0, self.V, first)
        slopes = y * np.append(np.maximum(0, 1 - y * scores[:2]), 1 / (1 + np.exp(np.minimum(700, y * scores[2:]))))
        step = np.array([1, 1 / 4, 16, 4]) * slopes / (x @ (V * x) + 100 / c)
        self.diagonal += np.outer(V * x, step)
        if y * scores[0] < 1 and self.mixture.rounds % 4 == 1:
            self.V = np.where(x != 0, V / (1 + 4 * c * x * x * V / 100), self.V)

    def learn_centred(self, x, y, c, z, scores):
        """Logistic descent on standardised features, then their means and deviations (Welford)."""
        width, weight = x.size, self.mixture.weight
        step = np.sqrt(width) / max(width, z @ z) / np.sqrt(weight / c)
        slopes = np.array([3, 1, 0.3]) * step * y / (1 + np.exp(np.minimum(700, y * scores)))
        self.centred += np.outer(slopes, z)
        away = x[:-1] - self.mean
        self.mean = self.mean + away * (c / weight if self.bias else 0)
        self.spread = self.spread + c * away * (x[:-1] - self.mean)

    def learn_full(self, x, y, c, score):
        """AROW with the full matrix: always at first, every sixteenth time after 2000."""
        if y * score >= 1:
            return
        self.tight += 1
        if self.tight > 2000 and self.tight % 16 != 0:
            return
        for j in np.flatnonzero((x != 0) & (self.F.diagonal() == 0)):
            self.F[j, j] = 1 / max(x[j] ** 2, LEAST_FEATURE)
        z = self.F @ x
        damped = 1 / (max(0.0, x @ z) + 3 / c)
        self.full = self.full + y * (1 - y * score) * damped * z
        self.F = self.F - damped * np.outer(z, z)
