"""Learners and policies by name: massart's own, the usual ones, and those of other packages when installed.

There is one table for worlds with labels, `LEARNERS`, and one for worlds with rewards, `POLICIES`. Races, commands,
benchmarks and documentation make learners here and nowhere else. A learner's modules are imported when it is made.
"""

import difflib
import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from massart.errors import InvalidParameterError

__all__ = ["LEARNERS", "POLICIES", "Registry"]

_REFERENCE: Final = "massart.learners.reference"
_INSTALL: Final = "pip install 'massart[bench]'"


class Known(NamedTuple):
    """What a world declares before the race; each learner uses what its description says and nothing more."""

    dimension: int
    seed: int
    noise_rate: float | None
    gap: float | None
    margin: float | None
    horizon: int | None
    arms: int
    reward_range: tuple[float, float]


class Recipe(NamedTuple):
    """How a learner is made, what it is, and what it is called in tables, figures and pages."""

    build: Callable[[Known], Any]
    description: str
    title: str = ""  # if other than the name
    ours: bool = False
    needs: tuple[str, ...] = ()  # of noise_rate, gap, margin, horizon
    package: str = ""  # a peer's


class Registry:
    """Learners for one kind of world.

    >>> LEARNERS.names(peers=False)[:3]
    ['massart', 'massart-fixed', 'massart-adagrad']
    >>> POLICIES.describe("uniform")
    'a random arm'
    """

    def __init__(
        self,
        noun: str,
        recipes: Mapping[str, Recipe],
        *,
        default: Sequence[str],
        peers: Sequence[str],
        aliases: Mapping[str, str],
        nothing: str,
    ) -> None:
        self.noun = noun  # "learner" or "policy"
        self.default = tuple(default)  # who races if none is named
        self._recipes = dict(recipes)
        self._peers = tuple(peers)  # the group of this name
        self._aliases = dict(aliases)  # other names that `make` takes
        self._nothing = nothing  # the learner that needs nothing

    @property
    def nouns(self) -> str:
        """The plural of `noun`."""
        return f"{self.noun}s".replace("ys", "ies")

    def names(self, peers: bool = True) -> list[str]:
        """All names that `make` takes here; `peers` adds those of other packages that are installed."""
        return [name for name, recipe in self._recipes.items() if not recipe.package or (peers and _found(recipe))]

    def opened(self, given: Sequence[str], unknown: Sequence[str] = ()) -> list[str]:
        """The names in `given`, each once; with commas, and the groups default, peers and all.

        Learners that need what is `unknown` of a world are left out of the groups, and refused by name.

        >>> POLICIES.opened(["linucb,uniform", "uniform"])
        ['linucb', 'uniform']
        >>> POLICIES.opened(["default"], unknown=["gap", "margin"])[:2]
        ['monotone-unknown', 'uniform']
        """
        installed = self.names()
        peers = [name for name in self._peers if name in installed]
        groups = {
            group: [name for name in names if not self._missing(name, unknown)]
            for group, names in (("default", self.default), ("peers", peers), ("all", installed))
        }
        words = [self._aliases.get(word, word) for several in given for word in several.split(",") if word]
        for word in words:
            missing = self._missing(word, unknown)
            if missing:
                raise InvalidParameterError(
                    f"the {self.noun} {word!r} needs {' and '.join(missing)}, which a data file does not tell: use "
                    f"{self._nothing!r}"
                )
        return list(dict.fromkeys(name for word in words for name in groups.get(word, [word])))

    def _missing(self, name: str, unknown: Sequence[str]) -> list[str]:
        recipe = self._recipes.get(name)
        return [] if recipe is None else [need for need in recipe.needs if need in unknown]

    def make(
        self,
        name: str,
        *,
        dimension: int,
        seed: int = 0,
        noise_rate: float | None = None,
        gap: float | None = None,
        margin: float | None = None,
        horizon: int | None = None,
        arms: int = 2,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> Any:
        """A new learner for rows of `dimension` features, without intercept, rows not scaled (norm at most 1).

        >>> LEARNERS.make("massart", dimension=20, noise_rate=0.1, margin=0.05).weights.shape
        (20,)
        >>> LEARNERS.make("perceptrom", dimension=20)
        Traceback (most recent call last):
        massart.errors.InvalidParameterError: there is no learner 'perceptrom'; did you mean 'perceptron'...
        """
        known = Known(dimension, seed, noise_rate, gap, margin, horizon, arms, reward_range)
        name = self.find(name)
        recipe = self._recipes[name]
        missing = [need for need in recipe.needs if getattr(known, need) is None]
        if missing:
            raise InvalidParameterError(
                f"the {self.noun} {name!r} needs {' and '.join(missing)}: give a number, or use {self._nothing!r}, "
                "which needs neither"
            )
        return recipe.build(known)

    def find(self, name: str) -> str:
        """The name that rows have, if the learner can be made here.

        >>> LEARNERS.find("massart-default"), LEARNERS.find("massart-known")
        ('massart-unknown', 'massart')
        """
        name = self._aliases.get(name, name)
        recipe = self._recipe(name)
        if not _found(recipe):
            raise InvalidParameterError(
                f"the {self.noun} {name!r} needs the package {recipe.package!r}, which is not installed: {_INSTALL}"
            )
        return name

    def is_known(self, name: str) -> bool:
        """Whether there is a learner of this name, installed or not."""
        return name in self._recipes

    def describe(self, name: str) -> str:
        """One line on what a learner is."""
        return self._recipe(name).description

    def title(self, name: str) -> str:
        """What a learner is called in tables, figures and pages; an unknown name stays as it is.

        >>> LEARNERS.title("massart-unknown"), POLICIES.title("paper"), LEARNERS.title("my own")
        ('massart (default)', "paper's Algorithm 3", 'my own')
        """
        recipe = self._recipes.get(name)
        return (recipe.title if recipe else "") or name

    def is_ours(self, name: str) -> bool:
        """Whether a learner belongs to this package rather than to the comparison.

        >>> LEARNERS.is_ours("massart-unknown"), POLICIES.is_ours("linucb"), LEARNERS.is_ours("my own")
        (True, False, False)
        """
        return name in self._recipes and self._recipes[name].ours

    def is_peer(self, name: str) -> bool:
        """Whether a learner is another package's, and so learns row by row."""
        return bool(self._recipe(name).package)

    def _recipe(self, name: str) -> Recipe:
        if name in self._recipes:
            return self._recipes[name]
        near = difflib.get_close_matches(str(name), self._recipes, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(map(repr, near))}?" if near else f"choose one of {', '.join(self._recipes)}"
        raise InvalidParameterError(f"there is no {self.noun} {name!r}; {hint}")


@cache
def _importable(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _found(recipe: Recipe) -> bool:
    return not recipe.package or _importable(recipe.package)


def _class(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _halfspace(*, horizon: bool = False, **how: str) -> Callable[[Known], Any]:
    def build(known: Known) -> Any:
        given = (known.dimension, known.noise_rate, known.margin, known.horizon if horizon else None)
        return _class("massart.learners.halfspace", "Halfspace")(*given, fit_intercept=False, normalize=False, **how)

    return build


def _pool(known: Known) -> Any:
    pool = _class("massart.learners.pool", "Pool")
    return pool(known.dimension, fit_intercept=False, normalize=False, seed=known.seed)


def _bandit(*, known_model: bool, **how: str) -> Callable[[Known], Any]:
    def build(known: Known) -> Any:
        model = {"gap": known.gap, "margin": known.margin, "horizon": known.horizon} if known_model else {}
        bandit = _class("massart.learners.bandit", "MonotoneBandit")
        return bandit(reward_range=known.reward_range, random_state=known.seed, **model, **how)

    return build


def _baseline(name: str, description: str, *needs: str, **options: float) -> Recipe:
    def build(known: Known) -> Any:
        given = {need: getattr(known, need) for need in needs}
        return _class(f"{_REFERENCE}.baselines", name)(known.dimension, **given, **options)

    return Recipe(build, description, needs=needs)


def _policy(name: str, description: str, **options: float) -> Recipe:
    def build(known: Known) -> Any:
        policy = _class(f"{_REFERENCE}.policies", name)
        return policy(known.dimension, reward_range=known.reward_range, seed=known.seed, **options)

    return Recipe(build, description)


def _peer_learner(name: str, package: str, module: str, description: str) -> Recipe:
    def build(known: Known) -> Any:
        return _class(f"{_REFERENCE}.{module}", "build_learner")(name, known.dimension)

    return Recipe(build, description, package=package)


def _peer_policy(name: str, package: str, module: str, description: str) -> Recipe:
    def build(known: Known) -> Any:
        made = _class(f"{_REFERENCE}.{module}", "build_policy")
        return made(name, known.dimension, known.arms, known.reward_range, known.seed)

    return Recipe(build, description, package=package)


def _peers(make: Callable[..., Recipe], table: Sequence[tuple[str, str, str, str]]) -> dict[str, Recipe]:
    return {line[0]: make(*line) for line in table}


_NOISE: Final = ("noise_rate", "margin")
_MODEL: Final = ("gap", "margin")

LEARNERS: Final = Registry(
    "learner",
    {
        "massart": Recipe(
            _halfspace(optimizer="ftrl"),
            "inverse-margin update under FTRL, noise rate and margin known",
            "massart (noise and margin known)",
            ours=True,
            needs=_NOISE,
        ),
        "massart-fixed": Recipe(
            _halfspace(optimizer="fixed", horizon=True),
            "inverse-margin update with the constant step of the horizon, noise rate and margin known",
            "massart (known, constant step)",
            ours=True,
            needs=(*_NOISE, "horizon"),
        ),
        "massart-adagrad": Recipe(
            _halfspace(optimizer="adagrad-norm"),
            "inverse-margin update by projected descent with AdaGrad-norm steps, noise rate and margin known",
            "massart (known, AdaGrad-norm)",
            ours=True,
            needs=_NOISE,
        ),
        "massart-unknown": Recipe(
            _pool,
            "MassartClassifier() with default settings: a pool of inverse-margin and conventional learners",
            "massart (default)",
            ours=True,
        ),
        "paper": Recipe(
            _halfspace(update="paper", horizon=True),
            "Algorithm 1 as printed, noise rate and margin known",
            "paper's Algorithm 1",
            ours=True,
            needs=_NOISE,
        ),
        "perceptron": _baseline("Perceptron", "adds y x on a mistake"),
        "averaged-perceptron": _baseline("AveragedPerceptron", "predicts with the average of the perceptron's weights"),
        "passive-aggressive": _baseline("PassiveAggressive", "PA-I with C = 1", aggressiveness=1.0),
        "passive-aggressive-small": _baseline("PassiveAggressive", "PA-I with C = 0.01", aggressiveness=0.01),
        "logistic": _baseline("LogisticDescent", "logistic gradient descent, steps 1/sqrt(t)", step=1.0),
        "logistic-fast": _baseline("LogisticDescent", "logistic gradient descent, steps 10/sqrt(t)", step=10.0),
        "hinge": _baseline("HingeDescent", "hinge gradient descent, steps 1/sqrt(t)", step=1.0),
        "adaptive-logistic": _baseline(
            "AdaptiveLogistic", "logistic descent with a step per coordinate, like Vowpal Wabbit's"
        ),
        "arow": _baseline("Arow", "adaptive regularisation of weight vectors, full matrix, r = 1"),
        "online-ridge": _baseline("OnlineRidge", "recursive least squares on the labels, ridge 1"),
        "leaky-relu": _baseline(
            "LeakyReluDescent",
            "leaky-ReLU descent without the division by the margin, noise rate known",
            "noise_rate",
        ),
        "coin-betting": _baseline(
            "CoinBetting", "inverse-margin update by coin betting, noise rate known, margin not", "noise_rate"
        ),
        "exponential-net": _baseline(
            "ExponentialNet",
            "exponential weights over a net of directions, noise rate and margin known; at most 3 features",
            *_NOISE,
        ),
        **_peers(
            _peer_learner,
            [
                ("sklearn-log", "sklearn", "peer_sklearn", "scikit-learn's SGDClassifier, logistic loss, its defaults"),
                ("sklearn-hinge", "sklearn", "peer_sklearn", "scikit-learn's SGDClassifier, hinge loss, its defaults"),
                ("sklearn-perceptron", "sklearn", "peer_sklearn", "scikit-learn's Perceptron"),
                ("sklearn-pa", "sklearn", "peer_sklearn", "scikit-learn's passive-aggressive learner, PA-I with C = 1"),
                ("sklearn-log-averaged", "sklearn", "peer_sklearn", "scikit-learn's SGDClassifier, log loss, averaged"),
                ("river-log", "river", "peer_river", "river's LogisticRegression, its defaults"),
                ("vw", "vowpalwabbit", "peer_vw", "Vowpal Wabbit, logistic loss, its own adaptive steps"),
            ],
        ),
    },
    default=(
        "massart",
        "massart-unknown",
        "paper",
        "perceptron",
        "averaged-perceptron",
        "passive-aggressive",
        "logistic",
        "hinge",
        "adaptive-logistic",
        "arow",
        "leaky-relu",
    ),
    peers=("sklearn-log", "river-log", "vw"),
    aliases={"massart-default": "massart-unknown", "massart-known": "massart"},
    nothing="massart-unknown",
)

_POLICIES: Final = {
    "monotone": Recipe(
        _bandit(known_model=True),
        "pairwise inverse-margin update; gap, margin and, if there is one, the horizon known",
        "monotone (gap and margin known)",
        ours=True,
        needs=_MODEL,
    ),
    "monotone-unknown": Recipe(
        _bandit(known_model=False),
        "MonotoneBandit() with default settings: a regression mixed with monotone experts",
        "monotone (default)",
        ours=True,
    ),
    "paper": Recipe(
        _bandit(known_model=True, update="paper"),
        "Algorithm 3 as printed; gap, margin and horizon known",
        "paper's Algorithm 3",
        ours=True,
        needs=(*_MODEL, "horizon"),
    ),
    "uniform": _policy("Uniform", "a random arm"),
    "epsilon-greedy-ridge": _policy(
        "EpsilonGreedyRidge", "the best arm of a ridge regression, or 1 time in 10 any arm", epsilon=0.1
    ),
    "action-centred-ridge": _policy(
        "ActionCentredRidge",
        "epsilon-greedy on a ridge regression of the arm less the round's expected arm (semiparametric)",
        epsilon=0.1,
    ),
    "linucb": _policy("LinUCB", "the highest upper confidence bound of a ridge regression", alpha=1.0),
    "linucb-small": _policy("LinUCB", "linucb with a tenth of its exploration, alpha 0.1", alpha=0.1),
    "linucb-disjoint": _policy(
        "LinUCBDisjoint", "LinUCB with a ridge regression for each place in the list of arms", alpha=1.0
    ),
    "linucb-disjoint-small": _policy(
        "LinUCBDisjoint", "linucb-disjoint with a tenth of its exploration, alpha 0.1", alpha=0.1
    ),
    "thompson": _policy("LinearThompson", "each arm as often as it is best under a Gaussian posterior", scale=0.5),
    "squarecb": _policy("SquareCB", "inverse-gap weighting on a ridge regression", trust=1.0),
    "epoch-greedy": _policy(
        "EpochGreedy", "epochs of one random arm and ever more greedy ones, learning from the former"
    ),
}
_PEER_POLICIES: Final = _peers(
    _peer_policy,
    [
        ("vw-epsilon", "vowpalwabbit", "peer_vw", "Vowpal Wabbit, --cb_explore_adf --epsilon 0.1"),
        ("vw-squarecb", "vowpalwabbit", "peer_vw", "Vowpal Wabbit, --cb_explore_adf --squarecb"),
        ("vw-regcb", "vowpalwabbit", "peer_vw", "Vowpal Wabbit, --cb_explore_adf --regcb"),
        ("vw-regcbopt", "vowpalwabbit", "peer_vw", "Vowpal Wabbit, --cb_explore_adf --regcbopt"),
        (
            "vw-regcbopt-small",
            "vowpalwabbit",
            "peer_vw",
            "Vowpal Wabbit, --regcbopt --mellowness 0.01",
        ),
        ("vw-cover", "vowpalwabbit", "peer_vw", "Vowpal Wabbit, --cb_explore_adf --cover 3"),
        ("vw-softmax", "vowpalwabbit", "peer_vw", "Vowpal Wabbit, --cb_explore_adf --softmax --lambda 10"),
        ("mabwiser-linucb", "mabwiser", "peer_mabwiser", "MABWiser's LinUCB, a ridge regression per place"),
        ("mabwiser-lints", "mabwiser", "peer_mabwiser", "MABWiser's LinTS, a ridge regression per place"),
        ("mabwiser-lingreedy", "mabwiser", "peer_mabwiser", "MABWiser's LinGreedy, a ridge regression per place"),
        ("river-linucb", "river", "peer_river", "river's LinUCBDisjoint on the rows of all arms"),
    ],
)
POLICIES: Final = Registry(
    "policy",
    {**_POLICIES, **_PEER_POLICIES},
    default=tuple(_POLICIES),
    peers=tuple(_PEER_POLICIES),
    aliases={"monotone-default": "monotone-unknown", "monotone-known": "monotone"},
    nothing="monotone-unknown",
)
