"""The log of a loop for others: JSON lines that `massart evaluate` and `massart bandit` read, dsjson, Parquet."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import msgspec

from massart.data.decisions.records import decision_of, write_parquet
from massart.learners.rounds import round_probabilities
from massart.service.model import request_of
from massart.service.store import DecisionRow, Step, Store
from massart.service.types import LoopSettings

__all__ = ["FORMATS", "exported", "record_of_decision"]

_PAGE: Final = 500
_FIRST: Final = 0


def record_of_decision(row: DecisionRow, step: Step | None, settings: LoopSettings) -> dict[str, Any]:
    """The record of `massart.data.decisions.records`; without a reward if the event is not settled."""
    request = request_of(row)
    ids = [one if isinstance(one, str) else one.id for one in request.actions or ()]
    features = [None if isinstance(one, str) else one.features for one in request.actions or ()]
    p = round_probabilities(row.round).tolist()
    if row.mode != "online":
        p = [float(place == row.arm) for place in range(len(p))]
    crossed = settings.crossing == "features"
    if crossed:
        features = [{"arm": name} if given is None else given for name, given in zip(ids, features, strict=True)]
    record: dict[str, Any] = {"event_id": row.event_id, "arm": row.arm, "probability": p[row.arm], "probabilities": p}
    record["_ids" if crossed else "ids"] = ids
    if any(given is not None for given in features):
        record["features"] = features
    if request.context is not None:
        record["context"] = request.context
    record["time"] = _time(row.time)
    if step is not None and step.reward is not None:
        record["reward"] = step.reward
    return record


def _time(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat()


def exported(
    read: Callable[[Callable[[Store], Any]], Any], loop: int, settings: LoopSettings, most: int
) -> Iterator[dict[str, Any]]:
    """The records of a loop in the order of decisions, up to that one; `read` calls a function with the store."""
    after = _FIRST
    while True:
        rows, steps = read(partial(_page, loop=loop, after=after, most=most))
        for row in rows:
            yield record_of_decision(row, steps.get(row.seq), settings)
        if len(rows) < _PAGE:
            return
        after = rows[-1].seq


def _page(store: Store, loop: int, after: int, most: int) -> tuple[list[DecisionRow], dict[int, Step]]:
    rows = store.decisions_after(loop, after, most, _PAGE)
    return rows, store.rewards_of([row.seq for row in rows])


def _jsonl(records: Iterator[dict[str, Any]], file: Any) -> None:
    for record in records:
        file.write(msgspec.json.encode(record) + b"\n")


def _dsjson(records: Iterator[dict[str, Any]], file: Any) -> None:
    for record in records:
        if "reward" not in record:
            continue
        arm, p = record["arm"], record["probabilities"]
        order = [arm, *(place for place in range(len(p)) if place != arm)]
        ids = record.get("ids") or record["_ids"]
        features = record.get("features") or [None] * len(ids)
        arms = [
            _object(given) | ({"arm": name} if given is None or "ids" in record else {})
            for name, given in zip(ids, features, strict=True)
        ]
        line = {
            "_label_cost": 0.0 - record["reward"], "_label_probability": record["probability"],
            "_label_Action": arm + 1, "_labelIndex": arm, "Timestamp": record["time"], "Version": "1",
            "EventId": record["event_id"], "a": [place + 1 for place in order], "p": [p[place] for place in order],
            "c": {**_object(record.get("context")), "_multi": arms},
        }  # fmt: skip
        file.write(json.dumps(line, allow_nan=False).encode() + b"\n")


def _object(features: Any) -> dict[str, Any]:
    """Features as an object; the places of a row are called [0], [1], as the hash calls them."""
    if isinstance(features, list):
        return {f"[{place}]": value for place, value in enumerate(features)}
    return {} if features is None else dict(features)


def _parquet(records: Iterator[dict[str, Any]], file: Any) -> None:
    paid = (record for record in records if "reward" in record)
    write_parquet((decision_of(record, "the log", place) for place, record in enumerate(paid, 1)), file)


FORMATS: Final[dict[str, tuple[str, Callable[[Iterator[dict[str, Any]], Any], None]]]] = {
    "jsonl": ("application/x-ndjson", _jsonl),
    "dsjson": ("application/x-ndjson", _dsjson),
    "parquet": ("application/vnd.apache.parquet", _parquet),
}
