"""Errors of `MassartClassifier(products=True)` on streams of two classes with at most 64 columns, next to others.

    python benchmarks/accuracy_products.py [--data DIR] [--json FILE]

Streams of benchmarks/accuracy.py and benchmarks/accuracy_unseen.py, in one random order, as they are and with 30% of
the labels flipped. Every row is predicted before it is learned; everybody is at the defaults. Vowpal Wabbit crosses
columns with -q ::, with each of three losses; river's are three linear learners behind its scaler and, as a
learner that is not linear, its forest of ten AMF trees.
"""

import argparse
import json
import tempfile
import warnings
from pathlib import Path

import accuracy_peers
import accuracy_unseen
import numpy as np
from accuracy_streams import DRIFTING, NOISES, Stream, available, load

MOST_COLUMNS = 64
LOSSES = ("logistic", "hinge", "squared")
FOREST = "river-amf"
RIVER = ("river-log-scaled", "river-alma-scaled", "river-pa-scaled")


def _products(stream: Stream, y: np.ndarray, order: np.ndarray) -> np.ndarray:
    from massart import MassartClassifier

    return MassartClassifier(products=True, random_state=0).learn_predict(stream.X[order], y[order], [False, True])


def _vowpal(loss: str, stream: Stream, y: np.ndarray, order: np.ndarray) -> np.ndarray:
    import vowpalwabbit

    with tempfile.TemporaryDirectory() as folder:
        data, said = Path(folder, "rows"), Path(folder, "answers")
        with data.open("w") as file:
            for i in order.tolist():
                row = " ".join(f"c{j}:{v:.9g}" for j, v in enumerate(stream.X[i].tolist()) if v != 0.0)
                file.write(f"{1 if y[i] else -1} |f {row}\n")
        how = ["-q", "::", "--loss_function", loss, "--binary", "--quiet", "-d", str(data), "-p", str(said)]
        vowpalwabbit.Workspace(arg_list=how).finish()
        return np.loadtxt(said, usecols=0, ndmin=1) > 0.0


def _forest(stream: Stream, y: np.ndarray, order: np.ndarray) -> np.ndarray:
    from river import forest

    model, said = forest.AMFClassifier(seed=0), np.zeros(order.size, bool)
    for n, i in enumerate(order.tolist()):
        x = dict(enumerate(stream.X[i].tolist()))
        said[n] = bool(model.predict_one(x))
        model.learn_one(x, bool(y[i]))
    return said


def errors(stream: Stream, y: np.ndarray, order: np.ndarray) -> dict[str, float]:
    """The progressive error of everybody."""
    said = {"massart": accuracy_peers.answers("massart", stream, y, order, 0), "products": _products(stream, y, order)}
    said |= {f"vw -q :: {loss}": _vowpal(loss, stream, y, order) for loss in LOSSES}
    said |= {name: accuracy_peers.answers(name, stream, y, order, 0) for name in RIVER}
    said[FOREST] = _forest(stream, y, order)
    return {name: float(np.mean(own != y[order])) for name, own in said.items()}


def main() -> None:
    """Print a line for each stream, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with spambase.data")
    parser.add_argument("--json", type=Path, help="write all numbers here")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [
        name for name in available(options.data)[0] if name not in DRIFTING and not name.startswith(("adult", "zipf"))
    ]
    streams = [load(name, options.data, False) for name in names] + accuracy_unseen.streams()
    found: dict[str, dict[str, float]] = {}
    for stream in (stream for stream in streams if stream.X.shape[1] <= MOST_COLUMNS):
        for noise in accuracy_unseen.SHOWN:
            own = errors(stream, stream.labels(NOISES[noise], 0), stream.order("random", 0))
            found[f"{stream.name}, {noise}"] = own
            print(f"{stream.name}, {noise}:", ", ".join(f"{name} {e:.4f}" for name, e in own.items()), flush=True)
    for name in next(iter(found.values())):
        print(f"{name:20} mean {np.mean([own[name] for own in found.values()]):.4f}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
