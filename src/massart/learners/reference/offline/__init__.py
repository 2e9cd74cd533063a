"""Batch learners of the literature on Massart noise, in scikit-learn's `fit` and `predict`: for comparison.

They minimise over all rows at once, where the learners of this package see each row once.
"""

from massart.learners.reference.offline.dgt19 import DGT19
from massart.learners.reference.offline.filtertron import FilterTron
from massart.learners.reference.offline.perspectron import Perspectron

__all__ = ["DGT19", "FilterTron", "Perspectron"]
