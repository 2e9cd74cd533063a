"""The paper's formulas as they are printed, in the paper's letters, for the tests of this folder.

Nothing here is corrected: where the paper leaves a choice open (the sign of zero), it is an argument.

    eta, gamma, eps, tau    noise rate, margin, slack, floor          Delta = 1 - 2 eta, Dt = Delta - eps
    X, v, r, a              k contexts (rows), current weights, rewards, chosen arm (Algorithm 2)
    M, rho, Lam             reward range, shift, weight of the loss at v = 0
"""

import numpy as np


def sign(t):
    """Sign with sign(0) = +1, so that it is always one of the two labels."""
    return np.where(np.asarray(t) >= 0, 1.0, -1.0)


def unit(rng, d):
    """A uniformly random direction."""
    x = rng.standard_normal(d)
    return x / np.linalg.norm(x)


def to_ball(w):
    """Projection on the unit ball."""
    return w / max(1.0, float(np.linalg.norm(w)))


def leaky_relu(lam, t):
    """Section 2, the definition."""
    return (1 - lam) * t * (t > 0) + lam * t * (t < 0)


def c_loss(delta, t, y):
    """Section 2, the definition of C_Delta(t; y)."""
    return (delta * np.abs(t) - y * t) / 2


def point_with_margin(rng, d, gamma, side=1.0):
    """A unit vector x with x[1] = side * (something in [gamma, 1]): margin gamma for the target e_2."""
    v = rng.uniform(gamma, 1)
    x = unit(rng, d)
    x[1] = 0.0
    x *= np.sqrt(1 - v * v) / np.linalg.norm(x)
    x[1] = side * v
    return x


def lemma_excess(T, eps, gamma, tau, regret):
    """Lemma 2.2, the printed R(T, eps, gamma, tau)."""
    return T * (eps / 2 + 8 * tau / (eps * gamma)) + regret * (1 + 8 * tau / (eps * gamma))


def shifted(X, v, a, rho, sign_of=sign):
    """Algorithm 2, line 3(a): rows z_j for j != a."""
    differences = np.delete(X[a] - X, a, axis=0)
    return differences + rho * np.outer(sign_of(differences @ v), v / np.linalg.norm(v))


def generator(w, X, v, r, a, delta, rho, Lam):
    """Algorithm 2: G(w; X, v, r, a)."""
    y = np.delete(r[a] - r, a)
    if not v.any():
        return -Lam * float((np.delete(X[a] - X, a, axis=0) @ w) @ y)
    z = shifted(X, v, a, rho)
    return float(np.sum(c_loss(delta, z @ w, y) / np.abs(z @ v)))


def generator_gradient(w, X, v, r, a, delta, rho):
    """The gradient of `generator` in w where v is not 0 (Appendix A.1)."""
    y = np.delete(r[a] - r, a)
    z = shifted(X, v, a, rho)
    return ((delta * sign(z @ w) - y) / (2 * np.abs(z @ v))) @ z


def fake_rewards(r, b, M):
    """Algorithm 3, line 2(e)ii: the reward vector invented from the one reward seen, that of arm b."""
    k = len(r)
    fake = np.full(k, M - r[b])
    fake[b] = (k - 1) * r[b]
    return fake


def monotone_round(rng, k, d, gamma, delta, M=1.0):
    """Contexts with pairwise margin gamma for the target e_1, expected rewards sorted with gaps >= delta."""
    slack = rng.dirichlet(np.ones(k + 1))[: k - 1]
    score = np.concatenate([[0.0], np.cumsum(gamma + (1.6 - (k - 1) * gamma) * slack)]) - 0.8
    slack = rng.dirichlet(np.ones(k + 1))[: k - 1]
    mean = np.concatenate([[0.0], np.cumsum(delta + (M - (k - 1) * delta) * slack)])
    rest = rng.standard_normal((k, d - 1))
    rest *= rng.uniform(0, 0.6, (k, 1)) / np.linalg.norm(rest, axis=1, keepdims=True)
    order = rng.permutation(k)
    return np.column_stack([score, rest])[order], mean[order]
