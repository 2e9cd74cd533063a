"""Is a message spam? Users click "spam", and on newsletters they click it carelessly.

Texts are made up. Words are hashed to columns as `massart train` hashes them; labels of newsletters are wrong four
times in ten, others hardly ever. Every learner answers each message before it sees the click; those of scikit-learn
in blocks of 20. Run: python examples/spam_from_clicks.py
"""

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from tables import answers_before_labels, installed, show

from massart import MassartClassifier

MESSAGES = 6_000
SPAM = ["winner", "prize", "urgent", "loan", "casino", "pills", "cheap", "click", "bonus", "credit"]
HAM = ["meeting", "report", "lunch", "project", "agenda", "review", "invoice", "thanks", "draft", "team"]
LETTER = ["newsletter", "unsubscribe", "weekly", "edition", "offers", "digest"]
COMMON = [f"word{k}" for k in range(300)]

rng = np.random.default_rng(0)
spam = rng.random(MESSAGES) < 0.4
letter = rng.random(MESSAGES) < 0.3
texts = []
for is_spam, is_letter in zip(spam, letter, strict=True):
    words = [*rng.choice(SPAM if is_spam else HAM, 3), *rng.choice(SPAM + HAM, 1), *rng.choice(COMMON, 8)]
    texts.append(" ".join([*words, *(rng.choice(LETTER, 2) if is_letter else [])]))
clicked = spam ^ (rng.random(MESSAGES) < np.where(letter, 0.4, 0.02))
X = HashingVectorizer(n_features=2**16, norm=None, alternate_sign=False).transform(texts).tocsr()

clf = MassartClassifier(random_state=0)
answers = {"MassartClassifier()": clf.learn_predict(X, clicked, classes=[False, True])}
answers |= {
    f"SGDClassifier({loss})": answers_before_labels(SGDClassifier(loss=loss, random_state=0), X, clicked)
    for loss in ("log_loss", "hinge")
}
if installed("river"):
    from river import linear_model

    river, said = linear_model.LogisticRegression(), np.zeros(MESSAGES, bool)
    for k, text in enumerate(texts):
        words = dict.fromkeys(text.split(), 1.0)
        said[k] = bool(river.predict_one(words))
        river.learn_one(words, bool(clicked[k]))
    answers["river LogisticRegression"] = said
show(
    f"{MESSAGES:,} messages, {np.mean(clicked != spam):.1%} of the clicks wrong; answers given before the click",
    ["learner", "against clicks", "against truth", "truth, newsletters"],
    [
        [
            name,
            *(float(np.mean(said != other)) for other in (clicked, spam)),
            float(np.mean(said[letter] != spam[letter])),
        ]
        for name, said in answers.items()
    ],
)
print(f"\n{clf.certificate()}")
