"""The lengths of fuzzers and of statistical tests, for the three tiers of tests.

| tier | command | fuzzed inputs of each kind | statistical tests |
|---|---|---|---|
| check | `make check`: without tests marked slow | 600 | short |
| test | `make test`, and the fuzzers in `make fuzz` | 20,000 | short |
| soak | `make soak` | 1,000,000 | full length |

`MASSART_TIER` is the tier, `MASSART_FUZZ` the number of inputs if it is to be another.
"""

import os

TIER = os.environ.get("MASSART_TIER", "test")
FUZZ = int(os.environ.get("MASSART_FUZZ", {"check": "600", "test": "20000", "soak": "1000000"}[TIER]))


def length(short: int, full: int) -> int:
    """The number of seeds, runs or rounds of a statistical test."""
    return full if TIER == "soak" else short
