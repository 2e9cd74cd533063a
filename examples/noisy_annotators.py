"""Digits labelled odd or even by three annotators, one of whom is wrong three times in ten.

Nobody knows who errs how often. With `groups` every annotator has a mistake bound of its own, and the table shows the
answers against the labels, which can be seen, and against the truth, which could not. Run: python
examples/noisy_annotators.py
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import show

from massart import MassartClassifier

RATES = {"anna": 0.01, "ben": 0.1, "cleo": 0.3}
rng = np.random.default_rng(0)
X, digits = load_digits(return_X_y=True)
order = rng.permutation(np.tile(np.arange(len(X)), 3))  # each image three times, labelled by whom it meets
X, truth = X[order], digits[order] % 2 == 1
annotator = rng.choice(list(RATES), len(X), p=[0.5, 0.3, 0.2])
y = truth ^ (rng.random(len(X)) < np.array([RATES[name] for name in annotator]))

clf = MassartClassifier(random_state=0)
answers = clf.learn_predict(X, y, classes=[False, True], groups=annotator)
rows = []
for name, rate in RATES.items():
    here = annotator == name
    rows.append(
        [
            name,
            clf.group_rounds_[name],
            rate,
            float(np.mean(answers[here] != y[here])),
            float(np.mean(answers[here] != truth[here])),
            clf.certificate(group=name).verdict,
        ]
    )
show("MassartClassifier(), groups=annotator: each answer before its label was learned",
     ["annotator", "labels", "wrong", "answers against labels", "against truth", "bound"], rows)  # fmt: skip

half = len(X) // 2
peers = {
    "MassartClassifier()": MassartClassifier(random_state=0),
    "logistic regression, scaled": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "SGDClassifier(log_loss), scaled": make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)),
}
show(
    "Fitted to the first half, which has other labels of most images of the second; error there, against the truth",
    ["learner", "error"],
    [
        [name, float(np.mean(peer.fit(X[:half], y[:half]).predict(X[half:]) != truth[half:]))]
        for name, peer in peers.items()
    ],
)
