"""Many files, or rows on many machines, learned side by side: shards on an executor, mixed into one model.

`fit_shards` takes any `concurrent.futures.Executor`: the processes of `local_processes`, or a cluster of Dask (the
extra `massart[dask]`), which this package alone imports. docs/scale.md says what is tested.
Names are loaded when they are first used: the workers of `massart train` do without scikit-learn.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from massart.scale.engine import ClusterError as ClusterError
    from massart.scale.engine import connect as connect
    from massart.scale.engine import local_cluster as local_cluster
    from massart.scale.engine import local_processes as local_processes
    from massart.scale.evaluating import evaluate_parts as evaluate_parts
    from massart.scale.fit import Shards as Shards
    from massart.scale.fit import fit_shards as fit_shards

_HOME = {
    "ClusterError": "massart.scale.engine",
    "Shards": "massart.scale.fit",
    "connect": "massart.scale.engine",
    "evaluate_parts": "massart.scale.evaluating",
    "fit_shards": "massart.scale.fit",
    "local_cluster": "massart.scale.engine",
    "local_processes": "massart.scale.engine",
}

__all__ = ["ClusterError", "Shards", "connect", "evaluate_parts", "fit_shards", "local_cluster", "local_processes"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
