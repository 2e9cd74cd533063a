"""The accuracy benchmark on streams that nobody looked at while the pool was put together.

    python benchmarks/accuracy_unseen.py

The experts of `MassartClassifier()` were chosen with the streams of benchmarks/accuracy.py in view. These are others:
other questions about digits, a regression turned into a classification, and synthetic rows, each as it is and with 30%
of the labels flipped. Everybody at their defaults; the same learners; 4 shuffles, 1 on streams of 5,000 rows and
more.
"""

import argparse
import warnings
from collections import defaultdict

import accuracy_peers
import numpy as np
from accuracy_streams import NOISES, Stream, _stream
from rich.console import Console
from rich.table import Table
from sklearn import datasets

OURS = "massart"
SHOWN = ("none", "random 30%")


def streams() -> list[Stream]:
    """Seven of them."""
    found = []
    X, y = datasets.load_digits(return_X_y=True)
    found += [_stream("digits, 5 and more", X, y >= 5), _stream("digits, 3 8 9", X, np.isin(y, (3, 8, 9)))]
    X, y = datasets.load_diabetes(return_X_y=True, scaled=False)
    found.append(_stream("diabetes, above the median", X, y > np.median(y)))
    X, y = datasets.load_wine(return_X_y=True)
    found.append(_stream("wine, class 1", X, y == 1))
    try:
        from river.datasets import ImageSegments
    except ImportError:
        print("Image segments are left out: river brings them.")
    else:
        rows = [(list(x.values()), str(label)) for x, label in ImageSegments()]
        label = np.array([label for _, label in rows])
        X = np.array([x for x, _ in rows], dtype=float)
        found.append(_stream("image segments, every other class", X, np.isin(label, np.unique(label)[::2])))
    X, y = datasets.make_classification(
        8000, 40, n_informative=10, n_redundant=15, flip_y=0.05, class_sep=0.7, random_state=5
    )
    found.append(_stream("40 columns from 1e-3 to 1e3", X * 10.0 ** np.random.default_rng(0).uniform(-3, 3, 40), y))
    X, y = datasets.make_classification(20_000, 300, n_informative=30, n_redundant=50, flip_y=0.1, random_state=6)
    found.append(_stream("300 columns, 50 redundant", X, y))
    return found


def errors(stream: Stream, noise: str, learners: list[str]) -> dict[str, float]:
    """Mean progressive error of everybody."""
    found: dict[str, list[float]] = defaultdict(list)
    for seed in range(4 if stream.rows < 5000 else 1):
        order, labels = stream.order("random", seed), stream.labels(NOISES[noise], seed)
        for name in learners:
            said = accuracy_peers.answers(name, stream, labels, order, seed)
            found[name].append(float(np.mean(said != labels[order])))
    return {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    warnings.simplefilter("ignore")
    learners, why = accuracy_peers.available()
    print(*why, sep="\n", end="\n" if why else "")
    table = Table("stream", "noise", "massart", "rank", "best of Vowpal Wabbit", "best of all others")
    ranks: dict[str, list[int]] = defaultdict(list)
    for stream in streams():
        for noise in SHOWN:
            found = errors(stream, noise, learners)
            order = sorted(found, key=lambda name: found[name])
            for place, name in enumerate(order, start=1):
                ranks[name].append(place)
            others = [name for name in order if name != OURS]
            vowpal = [name for name in others if name.startswith("vw")]
            best = [f"{found[names[0]]:.4f} {names[0]}" if names else "-" for names in (vowpal, others)]
            table.add_row(stream.name, noise, f"{found[OURS]:.4f}", str(ranks[OURS][-1]), *best)
    Console(width=120).print(table)
    means = sorted((float(np.mean(places)), name) for name, places in ranks.items())
    print("Mean ranks: " + ", ".join(f"{name} {mean:.2f}" for mean, name in means[:5]))


if __name__ == "__main__":
    main()
