"""Every parameter and every bound, one result per function, in plain floats.

`halfspace` holds the theorem the library runs on and what no learner can avoid, `paper` the slack form and the printed
algorithm with its true constants, `confidence` what holds with high probability, under broken assumptions and offline,
`experts` the price of a pool, `drift` what holds of targets that move, `groups` the price of a bound for every group,
`arms` the k-arm forms, `conditions` the ranges.  Proofs are in docs/theory.md.

>>> from massart import theory
>>> round(theory.ftrl_mistake_bound(noise_rate=0.1, margin=0.05, rounds=10**6))
109125
"""

from massart.theory import arms, conditions, confidence, drift, experts, groups, halfspace, paper
from massart.theory.arms import *  # noqa: F403 - each module's __all__ is exact
from massart.theory.conditions import *  # noqa: F403
from massart.theory.confidence import *  # noqa: F403
from massart.theory.drift import *  # noqa: F403
from massart.theory.experts import *  # noqa: F403
from massart.theory.groups import *  # noqa: F403
from massart.theory.halfspace import *  # noqa: F403
from massart.theory.paper import *  # noqa: F403

__all__: list[str] = []
__all__ += arms.__all__
__all__ += conditions.__all__
__all__ += confidence.__all__
__all__ += drift.__all__
__all__ += experts.__all__
__all__ += groups.__all__
__all__ += halfspace.__all__
__all__ += paper.__all__
