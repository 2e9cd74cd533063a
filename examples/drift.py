"""A target that moves: every 3,000 rows another pair of columns decides.

One label in ten is wrong where the last column is positive. Every learner answers each row before its label is
learned, scikit-learn's in blocks of 20; none is told when the target moves. Run: python examples/drift.py
"""

import numpy as np
from sklearn.linear_model import SGDClassifier
from tables import answers_before_labels, installed, show

from massart import MassartClassifier

ROWS, COLUMNS, PHASE = 12_000, 10, 3_000
rng = np.random.default_rng(0)
X = rng.normal(size=(ROWS, COLUMNS))
phase = np.arange(ROWS) // PHASE
truth = X[np.arange(ROWS), phase] > X[np.arange(ROWS), phase + 1]
y = truth ^ (rng.random(ROWS) < 0.1 * (X[:, -1] > 0))

answers = {}
clf = MassartClassifier(random_state=0)
answers["MassartClassifier()"] = clf.learn_predict(X, y, classes=[False, True])
short = MassartClassifier(horizon=1_000, random_state=0)
answers["MassartClassifier(horizon=1000)"] = short.learn_predict(X, y, classes=[False, True])
answers["SGDClassifier(log_loss)"] = answers_before_labels(SGDClassifier(loss="log_loss", random_state=0), X, y)
if installed("river"):
    from river import linear_model, preprocessing

    model, said = preprocessing.StandardScaler() | linear_model.LogisticRegression(), np.zeros(ROWS, bool)
    for k in range(ROWS):
        row = dict(enumerate(X[k].tolist()))
        said[k] = bool(model.predict_one(row))
        model.learn_one(row, bool(y[k]))
    answers["river StandardScaler, LogisticRegression"] = said
show(
    f"Answers against noisy labels; the truth itself errs on {np.mean(truth != y):.3f}",
    ["learner", *(f"rows to {(k + 1) * PHASE:,}" for k in range(ROWS // PHASE)), "all"],
    [
        [
            name,
            *(float(np.mean(said[phase == k] != y[phase == k])) for k in range(ROWS // PHASE)),
            float(np.mean(said != y)),
        ]
        for name, said in answers.items()
    ],
)
