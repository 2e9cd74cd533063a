"""Formats in and out, chunked: logs of decisions as VW text, dsjson, JSON lines and Parquet."""

from massart.data.decision_log import LOG_FORMATS, DecisionLog, write_decisions
from massart.data.decisions import Decision, DecisionBatch

__all__ = ["LOG_FORMATS", "Decision", "DecisionBatch", "DecisionLog", "write_decisions"]
