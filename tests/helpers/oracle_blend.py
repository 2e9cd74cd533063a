"""The default bandit's regression and the accounts of its mixture, short and slow: docs/theory.md, section 9.2."""

import numpy as np

PRIOR, BETWEEN, WITHIN, ALIKE, CLIP = 0.05, 0.2, 0.5, 0.5, 6.0
PACES = np.array([1.0, 4.0, 16.0, 64.0])
MOVING = 0.01


class Shares:
    """Of the paces: Bayes for Gaussian errors of variance 1/4, with some of the start mixed in; and their levels."""

    def __init__(self):
        self.start = np.array([10, 1, 1, 1]) / 13
        self.now, self.lessons, self.levels = self.start, 0, np.zeros(4)

    @property
    def moving(self):
        return max(MOVING, 1 / (self.lessons + 2))

    def add(self, errors):
        likely = self.now * np.exp(-2 * errors**2)
        back = 1 / (self.lessons + 2)
        self.now = (1 - back) * likely / likely.sum() + back * self.start
        self.lessons += 1


class Regression:
    """Of a group of m columns: rows [xbar, 1, x - xbar] in units of what was seen; weights at four paces.

    The covariance is that of ridge, by its formula.
    """

    def __init__(self, m, shares=None):
        self.shares, self.lessons, self.weights = shares or Shares(), 0, np.zeros((4, 2 * m + 1))
        self.m, self.count, self.pairs = m, 0, 0
        self.mean, self.squares, self.spread = np.zeros(m), np.zeros(m), np.zeros(m)
        P = np.diag(1 / np.concatenate([np.full(m, BETWEEN * m), [2.0], np.full(m, WITHIN * m)]))
        for j in range(m):
            P[j, m + 1 + j] = P[m + 1 + j, j] = ALIKE / np.sqrt(BETWEEN * m * WITHIN * m)
        self.A = np.linalg.inv(P)

    def row(self, X, arm):
        with np.errstate(all="ignore"):
            c = (X.mean(axis=0) - self.mean) / np.sqrt(self.squares / self.count)
            z = (X[arm] - X.mean(axis=0)) / np.sqrt(self.spread / self.pairs)
        u = np.concatenate([np.nan_to_num(c, posinf=0, neginf=0), [1.0], np.nan_to_num(z, posinf=0, neginf=0)])
        return np.clip(u, -CLIP, CLIP)

    @property
    def paces(self):
        return np.maximum(1, np.minimum(PACES, self.lessons / (self.m + 1)))

    def predict(self, X):
        U = np.array([self.row(X, arm) for arm in range(len(X))])
        squares = np.einsum("ij,ij->i", U, np.linalg.solve(self.A, U.T).T)
        predicted = (U @ self.weights.T + self.shares.levels) @ self.shares.now
        return predicted, np.sqrt(self.shares.now @ self.paces * squares)

    def learn(self, X, arm, y):
        self.count += 1
        away = X.mean(axis=0) - self.mean
        self.mean = self.mean + away / self.count
        self.squares = self.squares + away * (X.mean(axis=0) - self.mean)
        if len(X) > 1:
            self.pairs += 1
            self.spread = self.spread + X.var(axis=0, ddof=1)
        if arm is not None:
            u = self.row(X, arm)
            errors, v = y - self.shares.levels - self.weights @ u, np.linalg.solve(self.A, u)
            moving = self.shares.moving
            self.weights += (self.paces * errors / (1 + self.paces * (u @ v) + moving))[:, None] * v
            self.shares.levels = self.shares.levels + moving * errors / (1 + u @ v + moving)
            self.shares.add(errors)
            self.lessons += 1
            self.A += np.outer(u, u)


class Prod:
    """Theorem 19(a): shares, and the price of the path."""

    def __init__(self, prior=PRIOR):
        self.prior, self.lead, self.squares = prior, 0.0, 0.0
        self.gained = self.lowered = self.tail = 0.0

    @property
    def rate(self):
        return np.sqrt(np.log(1 / self.prior) / (1 + self.squares))

    @property
    def share(self):
        x = self.rate * self.lead - self.rate**2 * self.squares
        return 1 / (1 + (1 - self.prior) / self.prior * np.exp(-x))

    def potential(self, rate):
        return (
            np.logaddexp(np.log1p(-self.prior), np.log(self.prior) + rate * self.lead - rate**2 * self.squares) / rate
        )

    def add(self, delta):
        rate, share = self.rate, self.share
        self.gained += share * delta
        self.tail += share * rate * delta**2 if rate * delta < -0.5 else 0.0
        self.lead, self.squares = self.lead + delta, self.squares + delta**2
        self.lowered += self.potential(self.rate) - self.potential(rate)
