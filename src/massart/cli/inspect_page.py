"""What `massart inspect` found, in words: one fact per line, and a table of the heaviest features."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["fact_lines", "feature_rows", "shown"]

_LONGEST, _LONGEST_PATH = 60, 240  # characters of a name
_FILES, _COLUMNS = 4, 8  # that are named

Fact = tuple[str, str]


def shown(text: str, longest: int = _LONGEST) -> str:
    r"""A name from a file, safe to print, and not too long.

    >>> shown("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    safe = text if text.isprintable() else text.encode("unicode_escape").decode()
    return safe if len(safe) <= longest else safe[: longest - 3] + "..."


def fact_lines(found: Mapping[str, Any]) -> list[Fact]:
    """Everything but the features."""
    facts: list[Fact] = [("model", _what(found))]
    if "progress" in found:
        facts.append(("not finished", _progress(found["progress"])))
    facts.append(("parameters", _parameters(found["parameters"])))
    if "reading" in found:
        facts.append(("reading", _reading(found["reading"])))
    for run in found.get("training", {}).get("runs", []):
        facts += _run(run)
    if "rounds" in found:
        facts += _counts(found)
    if "experts" in found:
        facts += _experts(found)
    return facts


def feature_rows(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """(name, weight), or (class, name, weight) if there are more than two classes."""
    features = found.get("features") or []
    if isinstance(features, Mapping):
        return [(shown(label), *row) for label, own in features.items() for row in _pairs(own)]
    return list(_pairs(features))


def _pairs(features: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [(" | ".join(map(shown, feature["name"].split(" | "))), f"{feature['weight']:+.6g}") for feature in features]


def _what(found: Mapping[str, Any]) -> str:
    classes = found.get("classes", [])
    telling = f" that tells {' and '.join(shown(str(label)) for label in classes)} apart" if len(classes) == 2 else ""
    if len(classes) > 2:
        telling = f" of {len(classes)} classes"
    if found["kind"] == "classifier" and not classes:
        telling = " that has learned nothing yet"
    size = f"{found['bytes'] / 1e6:,.1f} MB" if found["bytes"] >= 1e5 else f"{found['bytes']:,} bytes"
    writer = f"written by massart {shown(found['massart'])}"
    return f"{shown(found['kind'])}{telling}; schema {found['schema']}, {writer}, {size}"


def _progress(progress: Mapping[str, Any]) -> str:
    source, _, line = progress["position"]
    phase = "measuring the rows kept apart" if progress["phase"] == "measure" else "learning"
    if progress["phase"] == "finish":
        return "a checkpoint: all is learned, the model was about to be written; go on with --resume"
    return (
        f"a checkpoint: {phase} in pass {progress['passed']}, {progress['read']:,} rows read, up to line {line:,} of "
        f"file {source + 1}; go on with --resume"
    )


def _parameters(parameters: Mapping[str, Any]) -> str:
    given = [f"{name}={_value(value)}" for name, value in parameters.items() if value is not None]
    unknown = [name for name in ("noise_rate", "margin") if name in parameters and parameters[name] is None]
    tried = [f"{' and '.join(unknown)} not given, so several are tried"] if unknown else []
    return ", ".join(given + tried) or "none"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "/".join(map(_value, value))
    return f"{value:g}" if isinstance(value, float) else shown(str(value))


def _reading(reading: Mapping[str, Any]) -> str:
    names = [shown(name) for name in reading.get("columns", [])]
    listed = ", ".join(names[:_COLUMNS]) + (f" and {len(names) - _COLUMNS:,} more" if len(names) > _COLUMNS else "")
    columns = f"names hashed to 2**{reading['bits']} columns" if "bits" in reading else "counted columns"
    parts = [shown(reading.get("format", "auto")), f"{columns} ({listed})" if names else columns]
    parts += [f"{key} {shown(reading[key])}" for key in ("label", "weight") if key in reading]
    parts.append(f"labels {' and '.join(map(shown, reading.get('labels', ('-1 or 0', '1'))))}")
    for key, what in (("categorical", "names in"), ("ignore", "without"), ("crossings", "crossing")):
        if reading.get(key):
            parts.append(f"{what} {', '.join(map(shown, reading[key]))}")
    return "; ".join(parts)


def _run(run: Mapping[str, Any]) -> list[Fact]:
    files = [
        f"{shown(name, _LONGEST_PATH)}{'' if size is None else f' ({size:,} bytes)'}"
        for name, size in run.get("sources", [])
    ]
    more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
    parts = [f"{run.get('learned', 0):,} learned"]
    parts += [f"{run[key]:,} {what}" for key, what in _LEFT_OUT.items() if run.get(key)]
    parts += [f"{count:,} left out: {shown(kind)}" for kind, count in (run.get("flaws") or {}).items()]
    if run.get("holdout"):
        parts.append("holdout error " + ", ".join(f"{wrong / max(1, rows):.2%}" for rows, wrong in run["holdout"]))
    return [("trained on", ", ".join(files[:_FILES]) + more), ("rows", "; ".join(parts))]


_LEFT_OUT = {"unlabelled": "without a label", "weightless": "of importance 0", "held_out": "kept apart"}


def _counts(found: Mapping[str, Any]) -> list[Fact]:
    if found["kind"] in ("bandit", "ranker"):
        return _decisions(found)
    facts = [("rounds", f"{found['rounds']:,}, {found['mistakes']:,} mistakes")]
    if found["error"] is not None:
        words = f" ({found['error']:.2%}), each row predicted before it was learned"
        facts = [("rounds", facts[0][1] + words)]
    from massart.learners.summary import noise_rate_words

    facts.append(("bound", found["certificate"]["sentence"]))
    facts.append(("noise rate", noise_rate_words(found["noise_rate"])))
    return facts


def _decisions(found: Mapping[str, Any]) -> list[Fact]:
    facts = [("rounds", f"{found['rounds']:,}"), ("columns", f"{found['columns']:,}")]
    if found["kind"] == "ranker":
        facts.append(("lift", f"{found['lift']:,.1f} seen"))
        least = found["guaranteed_lift"]
        words = f"an expected lift of at least {least:,.1f} (Theorem 17)" if least > 0 else "nothing yet"
        return [*facts, ("guarantee", words)]
    lift = found["certificate"]
    seen = f"{lift['observed_lift']:,.1f} seen ({lift['low']:,.1f} to {lift['high']:,.1f} at {lift['confidence']:.0%})"
    facts.append(("pending", f"{found['pending']:,} choices wait for their reward"))
    return [*facts, ("lift", seen), ("guarantee", lift["sentence"])]


def _experts(found: Mapping[str, Any]) -> list[Fact]:
    facts = [("columns", f"{found['columns']:,}, of which {found['used']:,} have a weight")]
    several = isinstance(found["intercept"], Mapping)
    pools = found["experts"] if several else {"": found["experts"]}
    constants = found["intercept"] if several else {"": found["intercept"]}
    for label, shares in pools.items():
        whom = f" {shown(label)}" if label else ""
        facts.append((f"expert weights{whom}", "; ".join(f"{name} {share:.0%}" for name, share in shares.items())))
        facts.append((f"constant{whom}", f"{constants[label]:+.6g}"))
    return facts
