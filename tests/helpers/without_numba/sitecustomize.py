"""On PYTHONPATH, it makes Numba and llvmlite impossible to import, as where only the wheel was installed."""

import sys


class _NotInstalled:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, _NotInstalled)
