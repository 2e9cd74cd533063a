"""Many files, or rows on many machines, learned side by side: shards on an executor, mixed into one model.

`fit_shards` takes any `concurrent.futures.Executor`; Dask (the extra `massart[dask]`) is the one that is tested and
documented (docs/scale.md), and this package is the only one that imports it.
"""

from massart.scale.engine import ClusterError, connect, local_cluster
from massart.scale.fit import Shards, fit_shards

__all__ = ["ClusterError", "Shards", "connect", "fit_shards", "local_cluster"]
