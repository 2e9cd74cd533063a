"""massart in river: models that learn one dict at a time.

`MassartClassifier`, `MonotoneBandit` and `MonotoneRanker` are river's estimators: they work in its pipelines, its
evaluation loops and its checks. docs/river.md shows them. They need the package river: `pip install "massart[river]"`.
"""

from massart.errors import needs

needs("river", "river", "for massart.river")

from massart.river.bandit import MonotoneBandit  # noqa: E402 - after the sentence about what is missing
from massart.river.classifier import MassartClassifier  # noqa: E402
from massart.river.ranker import MonotoneRanker  # noqa: E402

__all__ = ["MassartClassifier", "MonotoneBandit", "MonotoneRanker"]
