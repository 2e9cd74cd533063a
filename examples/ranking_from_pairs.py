"""A ranking of documents from pairs, of which up to three in ten are the wrong way round.

Each pair says which of two documents somebody preferred. Pairs of long documents are judged carelessly. A linear
score is learned in one pass, by `MonotoneRanker` and by logistic regression on differences. Run: python
examples/ranking_from_pairs.py
"""

import numpy as np
from scipy.stats import kendalltau
from sklearn.linear_model import LogisticRegression, SGDClassifier
from tables import show

from massart import MonotoneRanker

PAIRS, COLUMNS = 4_000, 8
rng = np.random.default_rng(0)
truth = rng.normal(size=COLUMNS)
first, second = rng.normal(size=(2, PAIRS, COLUMNS))
better = (first - second) @ truth > 0
careless = np.abs(first[:, 0]) + np.abs(second[:, 0]) > 2
said = better ^ (rng.random(PAIRS) < np.where(careless, 0.3, 0.02))

ranker = MonotoneRanker(random_state=0)
for a, b, preferred in zip(first, second, said, strict=True):
    ranker.learn(np.array([a, b]), [float(preferred), float(not preferred)])
differences = first - second
peers = {
    "MonotoneRanker()": ranker.score,
    "SGDClassifier(log_loss) on differences, one pass": SGDClassifier(
        loss="log_loss", fit_intercept=False, random_state=0, shuffle=False
    )
    .partial_fit(differences, said, classes=[False, True])
    .decision_function,
    "LogisticRegression on differences, batch": LogisticRegression(fit_intercept=False)
    .fit(differences, said)
    .decision_function,
}
documents = rng.normal(size=(2_000, COLUMNS))
show(
    f"{PAIRS:,} pairs, {np.mean(said != better):.1%} the wrong way round; new documents ranked",
    ["learner", "Kendall's tau with the truth", "of the true top 100, in the first 100"],
    [
        [
            name,
            float(kendalltau(score(documents), documents @ truth).statistic),
            len(set(np.argsort(-score(documents))[:100]) & set(np.argsort(-(documents @ truth))[:100])) / 100,
        ]
        for name, score in peers.items()
    ],
)
