"""Pictures of learners with Matplotlib (`pip install "massart[report]"`): each function takes axes and returns them.

    from massart import plot
    history = plot.History().learn(classifier, X, y, classes=[0, 1])
    plot.progress(history)

Without axes a new figure is made by `matplotlib.pyplot`.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from massart.errors import InvalidDataError, InvalidParameterError, needs
from massart.learners.certificate import Certificate
from massart.learners.history import History, Moment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["History", "Moment", "certificate", "experts", "lift", "progress", "reliability", "weights"]

_OURS, _SECOND, _QUIET = "#0550ae", "#b35900", "#6e7781"
_COLOURS: Final = (_OURS, _SECOND, "#0a7a55", "#a0308f", "#7d6608", "#b3121d", "#1b8a9c", "#5a4fcf")
_LEAST_SHARE: Final = 0.01  # of an expert that is named


def _axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    pyplot = needs("matplotlib.pyplot", "report", "to draw")
    made: Axes = pyplot.subplots(layout="constrained")[1]
    return made


def _plain(ax: "Axes", title: str, x: str, y: str) -> "Axes":
    ax.set_title(title, loc="left", fontsize="medium")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _moments(history: Any) -> list[Moment]:
    if not isinstance(history, History):
        raise InvalidParameterError(
            f"history is a {type(history).__name__}: record one with plot.History().learn(classifier, X, y)"
        )
    if not history.moments:
        raise InvalidDataError("this history is empty: record a classifier that has learned rows")
    return history.moments


def progress(history: History, ax: "Axes | None" = None) -> "Axes":
    """Mistakes per round so far, and the bound on them, over rounds.

    The bound is that of `certificate`, divided by the rounds; where it is 1, nothing is proved.

    >>> import numpy as np
    >>> from massart import MassartClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> history = History().learn(MassartClassifier(0.1, 0.05), X, X[:, 0] > 0, classes=[False, True])
    >>> [line.get_label() for line in progress(history).get_lines()]
    ['mistakes', 'bound (confidence 0.99)']
    """
    moments, ax = _moments(history), _axes(ax)
    rounds = [one.rounds for one in moments]
    ax.plot(rounds, [one.mistakes / one.rounds for one in moments], color=_OURS, label="mistakes")
    bounds = [min(1.0, one.bound / one.rounds) for one in moments]
    ax.plot(rounds, bounds, color=_SECOND, linestyle="--", label=f"bound (confidence {history.confidence:g})")
    ax.set_xscale("log")
    ax.set_ylim(0.0, 1.05)
    ax.legend(frameon=False, loc="upper right")
    return _plain(ax, "Mistakes before learning, and their bound", "rounds", "per round")


def experts(history: History, ax: "Axes | None" = None, most: int = 6) -> "Axes":
    """The weights of the experts over rounds; those with the largest weight at any time are named, at most `most`."""
    if most < 1:
        raise InvalidParameterError(f"most={most}: give 1 or more")
    moments, ax = _moments(history), _axes(ax)
    largest: dict[str, float] = {}
    for one in moments:
        for name, share in one.weights.items():
            largest[name] = max(share, largest.get(name, 0.0))
    if not largest:
        raise InvalidDataError("this history has no expert weights: there is one learner per class")
    named = [name for name in sorted(largest, key=lambda one: -largest[one]) if largest[name] >= _LEAST_SHARE][:most]
    rounds = [one.rounds for one in moments]
    for number, name in enumerate(named):
        shares = [one.weights.get(name, 0.0) for one in moments]
        ax.plot(rounds, shares, color=_COLOURS[number % len(_COLOURS)], label=name)
    ax.set_xscale("log")
    ax.set_ylim(0.0, 1.05)
    ax.legend(frameon=False, fontsize="small")
    return _plain(ax, "Expert weights", "rounds", "weight")


def certificate(of: Any, ax: "Axes | None" = None) -> "Axes":
    """What a classifier, or its `Certificate`, says of the mistakes: seen, allowed, and of constant answers.

    >>> from massart import MassartClassifier
    >>> clf = MassartClassifier(0.1, 0.5).partial_fit([[1.0], [-1.0]] * 50, [1, 0] * 50, classes=[0, 1])
    >>> [label.get_text() for label in certificate(clf).get_yticklabels()][:2]
    ['mistakes', 'bound']
    """
    found = of if isinstance(of, Certificate) else of.certificate()
    ax = _axes(ax)
    named = [("mistakes", found.mistakes, _OURS), ("bound", found.confident_mistake_bound, _SECOND)]
    if np.isfinite(found.constant_mistakes):
        named.append(("always the most\nfrequent label", found.constant_mistakes, _QUIET))
    named.append(("rounds", found.rounds, _QUIET))
    places = np.arange(len(named))
    bars = ax.barh(places, [value for _, value, _ in named], color=[colour for *_, colour in named], height=0.6)
    ax.bar_label(bars, [f"{value:,.0f}" for _, value, _ in named], padding=4)
    ax.set_yticks(places, [name for name, *_ in named])
    ax.set_xlim(0.0, 1.15 * max(1.0, *(value for _, value, _ in named)))
    ax.invert_yaxis()
    declared = f"noise rate {found.noise_rate:.3g}, margin {found.margin:.2g}, confidence {found.confidence:.4g}"
    return _plain(ax, f"{found.verdict}\n{declared}", "number", "")


def weights(classifier: Any, ax: "Axes | None" = None, top: int = 20, label: Any = None) -> "Axes":
    """The largest weights of `coef_`, of two classes or, with `label`, of one of several."""
    if top < 1:
        raise InvalidParameterError(f"top={top}: give 1 or more")
    try:
        coef = np.asarray(classifier.coef_)
    except AttributeError as error:
        raise InvalidDataError(f"there are no weights to draw: {error}") from None
    row = 0
    if coef.shape[0] > 1:
        labels = classifier.classes_.tolist()
        if label not in labels:
            raise InvalidParameterError(f"label={label!r}: there are weights for each class, name one of {labels}")
        row = labels.index(label)
    own, ax = coef[row], _axes(ax)
    names = getattr(classifier, "feature_names_in_", ())
    order = [int(k) for k in np.lexsort((np.arange(own.size), -np.abs(own)))[:top] if own[k] != 0.0]
    shown = [str(names[k]) if len(names) == own.size else f"column {k}" for k in order]
    places = np.arange(len(order))
    ax.barh(places, own[order], color=[_OURS if own[k] > 0.0 else _SECOND for k in order], height=0.7)
    ax.set_yticks(places, shown)
    ax.invert_yaxis()
    ax.axvline(0.0, color=_QUIET, linewidth=0.8)
    positive = classifier.classes_[row if coef.shape[0] > 1 else 1]
    return _plain(ax, f"Largest weights (positive: towards {positive})", "weight", "")


def reliability(classifier: Any, X: Any = None, y: Any = None, ax: "Axes | None" = None, bins: int = 10) -> "Axes":
    """How often the most probable label is right, by its probability; dots are as large as they have rows.

    With a `Diagnosis` in place of the classifier no rows are needed: its probabilities were given before the labels
    were seen. Rows that the classifier has learned look more reliable than new ones.
    """
    if bins < 1:
        raise InvalidParameterError(f"bins={bins}: give 1 or more")
    if hasattr(classifier, "reliability"):
        points = classifier.reliability.points()
    else:
        if X is None or y is None:
            raise InvalidParameterError("give rows X and their labels y")
        chances = classifier.predict_proba(X)
        best = chances.max(axis=1)
        right = np.asarray(classifier.classes_[chances.argmax(axis=1)] == np.asarray(y))
        places = np.minimum((best * bins).astype(np.int64), bins - 1)
        inside = [places == place for place in range(bins)]
        points = [(float(best[own].mean()), float(right[own].mean()), int(own.sum())) for own in inside if own.any()]
    if not points:
        raise InvalidDataError("there is no row to draw: give some")
    ax = _axes(ax)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=_QUIET, linestyle="--", linewidth=1.0, label="probabilities that are right")
    ax.plot([p for p, _, _ in points], [share for _, share, _ in points], color=_OURS, linewidth=1.0)
    most = max(rows for *_, rows in points)
    sizes = [20.0 + 180.0 * rows / most for *_, rows in points]
    ax.scatter([p for p, _, _ in points], [s for _, s, _ in points], s=sizes, color=_OURS, alpha=0.8, label="answers")
    ax.set_xlim(0.0, 1.02)
    ax.set_ylim(0.0, 1.05)
    ax.legend(frameon=False, loc="upper left", markerscale=0.5)
    return _plain(ax, "Reliability of probabilities", "probability of the answer", "share that is right")


def lift(of: Any, ax: "Axes | None" = None) -> "Axes":
    """The lift of a `MonotoneBandit`, or of its certificate, over a random arm: seen, with its interval, guaranteed."""
    found = of.certificate() if hasattr(of, "certificate") else of
    if not hasattr(found, "observed_lift"):
        raise InvalidParameterError(f"there is no lift in a {type(of).__name__}: give a bandit, or its certificate")
    ax = _axes(ax)
    named: list[tuple[str, float, str]] = [("seen", found.observed_lift, _OURS)]
    if found.guaranteed_lift is not None:
        named.append(("guaranteed\n(expected)", found.guaranteed_lift, _SECOND))
    places = np.arange(len(named))
    ends = np.array([[found.observed_lift - found.low], [found.high - found.observed_lift]])
    ax.barh(places, [value for _, value, _ in named], color=[colour for *_, colour in named], height=0.5)
    ax.errorbar([found.observed_lift], [0], xerr=np.maximum(ends, 0.0), color="black", capsize=5)
    ax.set_yticks(places, [name for name, *_ in named])
    ax.invert_yaxis()
    ax.axvline(0.0, color=_QUIET, linewidth=0.8)
    rounds = f"{found.rounds:,} rounds, interval of one look at {found.confidence:g}"
    return _plain(ax, f"Lift over a random arm: {found.verdict}\n{rounds}", "sum of rewards above a random arm's", "")
