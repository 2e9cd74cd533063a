"""What the service counts, as text for Prometheus; labels are loops, modes and outcomes, never events."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Final

from massart.service.clock import SECOND
from massart.service.engine import Engine
from massart.service.loop import Loop
from massart.service.streams import Stream

__all__ = ["METRICS_TYPE", "Durations", "metrics_text"]

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # seconds
_COUNTERS: Final = {
    "decisions": ("massart_decisions_total", "mode", "Decisions, since the start of the process."),
    "rewards": ("massart_rewards_total", "outcome", "Rewards that were looked at, since the start of the process."),
    "activations": ("massart_activations_total", "outcome", "Activations, since the start of the process."),
    "steps": ("massart_updates_total", "why", "Steps of models, since the start of the process."),
}
_STREAM_COUNTERS: Final = {
    "predictions": ("massart_stream_predictions_total", "Rows of streams predicted, since the start of the process."),
    "rows": ("massart_stream_rows_total", "Rows of streams learned or refused, since the start of the process."),
}


class Durations:
    """How long requests took, by scope of their route, as a histogram of Prometheus.

    >>> durations = Durations()
    >>> durations.note("decide", 0.003)
    >>> durations.lines()[3]
    'massart_request_duration_seconds_bucket{scope="decide",le="0.0025"} 0'
    """

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def note(self, scope: str, seconds: float) -> None:
        """One request."""
        counts = self._counts.setdefault(scope, [0] * (len(_BUCKETS) + 1))
        counts[bisect_left(_BUCKETS, seconds)] += 1
        self._sums[scope] = self._sums.get(scope, 0.0) + seconds

    def lines(self) -> list[str]:
        """As text."""
        name = "massart_request_duration_seconds"
        lines = [f"# HELP {name} Time from a request to its answer.", f"# TYPE {name} histogram"]
        for scope, counts in sorted(self._counts.items()):
            ends = [*map(str, _BUCKETS), "+Inf"]
            for end, total in zip(ends, accumulate(counts), strict=True):
                lines.append(f'{name}_bucket{{scope="{scope}",le="{end}"}} {total}')
            lines.append(f'{name}_sum{{scope="{scope}"}} {self._sums[scope]:.6f}')
            lines.append(f'{name}_count{{scope="{scope}"}} {sum(counts)}')
        return lines


def _stream_lines(
    engine: Engine, counted: list[tuple[tuple[str, str, str], int]], waiting: Mapping[str, int], now: int
) -> list[str]:
    """The metrics of streams; `waiting` are rows that are not learned yet, by stream."""
    lines: list[str] = []
    for what, (name, words) in _STREAM_COUNTERS.items():
        lines += [f"# HELP {name} {words}", f"# TYPE {name} counter"]
        own = sorted((stream, count) for (kind, stream, _), count in counted if kind == what)
        lines += [f'{name}{{stream="{stream}"}} {count}' for stream, count in own]
    gauges: dict[str, tuple[str, Callable[[Stream], float]]] = {
        "massart_stream_rows_pending": ("Rows that are not learned yet.", lambda one: waiting[one.name]),
        "massart_stream_model_version": ("Steps of the model.", lambda one: one.model.version),
        "massart_stream_model_age_seconds": (
            "Time since the last step.",
            lambda one: max(0.0, (now - one.model.updated) / SECOND),
        ),
        "massart_stream_rounds": ("Rows that the model has learned.", lambda one: one.model.learned),
        "massart_stream_mistakes": (
            "Of these, rows that it predicted wrongly just before it learned them.",
            lambda one: one.model.mistakes,
        ),
        "massart_stream_refused": ("Rows that could not be learned.", lambda one: one.model.refused),
    }
    for name, (words, value) in gauges.items():
        lines += [f"# HELP {name} {words}", f"# TYPE {name} gauge"]
        lines += [
            f'{name}{{stream="{one.name}"}} {value(one):g}' for one in engine.streams.all() if one.name in waiting
        ]
    return lines


def metrics_text(
    engine: Engine, counts: Mapping[str, Mapping[str, int]], waiting: Mapping[str, int], durations: Durations
) -> str:
    """All metrics; `counts` are those of the store, by loop, `waiting` rows that are not learned yet, by stream."""
    lines, counted = durations.lines(), list(engine.counts.items())  # at once: other threads count meanwhile
    for what, (name, label, words) in _COUNTERS.items():
        lines += [f"# HELP {name} {words}", f"# TYPE {name} counter"]
        own = sorted((loop, value, count) for (kind, loop, value), count in counted if kind == what)
        lines += [f'{name}{{loop="{loop}",{label}="{value}"}} {count}' for loop, value, count in own]
    now = engine.clock.now()
    gauges: dict[str, tuple[str, Callable[[Loop], float]]] = {
        "massart_events_pending": ("Decisions that wait for a reward.", lambda loop: counts[loop.name]["waiting"]),
        "massart_model_version": ("Steps of the model.", lambda loop: loop.model.version),
        "massart_model_age_seconds": (
            "Time since the last step.",
            lambda loop: max(0.0, (now - loop.model.updated) / SECOND),
        ),
        "massart_average_reward": (
            "Mean reward that the model has learned.",
            lambda loop: loop.model.sums["rewards"] / max(1.0, loop.model.sums["rounds"]),
        ),
    }
    for name, (words, value) in gauges.items():
        lines += [f"# HELP {name} {words}", f"# TYPE {name} gauge"]
        lines += [f'{name}{{loop="{loop.name}"}} {value(loop):g}' for loop in engine.loops() if loop.name in counts]
    lines += _stream_lines(engine, counted, waiting, now)
    ready, learner = engine.is_ready, engine.host is None or engine.host.is_learner
    plain = (
        ("massart_store_healthy", "gauge", "Whether the last transaction succeeded.", int(ready)),
        ("massart_is_learner", "gauge", "Whether this process learns.", int(learner)),
        ("massart_transactions_total", "counter", "Transactions of this process.", engine.writer.batches),
        ("massart_rows_written_total", "counter", "Decisions and rewards in them.", engine.writer.written),
    )
    for name, kind, words, number in plain:
        lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}", f"{name} {number}"]
    return "\n".join(lines) + "\n"
