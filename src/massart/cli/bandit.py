"""`massart bandit`: from a log of decisions, whoever made them, to a bandit that makes the next ones."""

import json as json_format
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from massart.cli import log_options
from massart.cli._command import escaped, reporting, with_flags
from massart.cli.parameters import Argument, Option
from massart.cli.process import Outlet, Stop, leave
from massart.errors import InvalidParameterError, counted

if TYPE_CHECKING:
    from massart.learners.bandit import MonotoneBandit
    from massart.learners.from_logs import LearnedLog

_NAME = "massart bandit"
_FLAGS = log_options.FLAGS | {"actions": "--actions"}
_BAD = 1  # exit code if lines were left out


def bandit(
    logs: Annotated[
        list[str],
        Argument(
            metavar="LOG...",
            help="The log: files, folders, patterns, or - for standard input; VW --cb_adf and --cb text, dsjson, JSON "
            "lines, CSV or Parquet. Plain, gzip, zstd or bz2.",
        ),
    ],
    model: Annotated[
        Path | None, Option("--model", "-f", metavar="MODEL", help="Write the bandit here.", show_default=False)
    ] = None,
    initial: Annotated[
        Path | None,
        Option("--initial", "-i", metavar="MODEL", help="Go on from this bandit, as it is.", show_default=False),
    ] = None,
    log_format: Annotated[
        str,
        Option("--format", help="auto, vw, vw-cb, dsjson, jsonl, csv or parquet. VW's costs are negative rewards."),
    ] = "auto",
    actions: Annotated[
        int | None,
        Option(min=1, help="How many actions VW's --cb text has; the largest in it if missing.", show_default=False),
    ] = None,
    reward_range: Annotated[
        tuple[float, float] | None,
        Option(help="Least and greatest possible reward.  \\[default: 0 1]", show_default=False),
    ] = None,
    clip_rewards: Annotated[
        bool, Option("--clip-rewards", help="Clip rewards outside of the range instead of leaving them out.")
    ] = False,
    action: log_options.Action = None,
    reward: log_options.Reward = None,
    cost: log_options.Cost = None,
    probability: Annotated[
        str | None, Option(metavar="COL", help="The column of the probability that the arm had.", show_default=False)
    ] = None,
    context: log_options.Context = None,
    event_id: log_options.EventId = None,
    weight: log_options.Weight = None,
    arms: log_options.Arms = None,
    max_bad_lines: log_options.MaxBadLines = 100,
    seed: Annotated[int | None, Option(min=0, help="Of the bandit's draws.", show_default=False)] = None,
    json: Annotated[bool, Option("--json", help="Print the summary as JSON.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Say nothing but errors and warnings.")] = False,
) -> None:
    """Learn a bandit from a log of decisions that another policy made, by importance weighting, and save it.

    The log must say with which probability each arm was played. Bad lines are left out, reported and counted.
    Ctrl-C saves what was learned so far.

    [bold]Example[/bold]

    massart bandit log.jsonl -f shop.massart

    massart evaluate log.jsonl --policy shop.massart
    """
    given = dict(locals())
    with Stop() as stop, reporting(_NAME, stop, "stopped before anything was learned", _FLAGS):
        options = {"reward_range": reward_range, "clip_rewards": clip_rewards or None, "random_state": seed}
        asked = {name: value for name, value in options.items() if value is not None}
        if model is None:
            raise InvalidParameterError("name the file of the bandit with -f MODEL")
        columns = log_options.columns_of(given)
        reading = {"log_format": log_format, "actions": actions, "columns": columns, "max_bad_lines": max_bad_lines}
        code = _run(logs, model, initial, asked, reading, stop, json=json, quiet=quiet)
        if code:
            leave(code)


def _run(
    logs: list[str],
    model: Path,
    initial: Path | None,
    asked: dict[str, Any],
    reading: dict[str, Any],
    stop: Stop,
    *,
    json: bool,
    quiet: bool,
) -> int:
    from massart.data import DecisionLog
    from massart.files import OutputLock, check_place
    from massart.learners.from_logs import learn_decisions
    from massart.models.saving import save

    err = Outlet(sys.stderr, careless=True)
    check_place(model, "the bandit", devices=False)
    with OutputLock(model):
        learner = _begun(initial, asked)
        log = DecisionLog(logs, crossed=True, **reading)
        stop.patient = True
        shown = _Progress(err, stop, quiet=quiet)
        with shown.bar:
            learned = learn_decisions(learner, log, {}, shown)
        if learned.rounds:
            save(learner, model)
    _tell(learned, learner, model, err, json=json, quiet=quiet)
    if not learned.complete:
        return 128 + (stop() or 2)
    return _BAD if learned.bad else 0


def _begun(initial: Path | None, asked: dict[str, Any]) -> "MonotoneBandit":
    from massart.learners.bandit import MonotoneBandit
    from massart.models.opening import load

    if initial is None:
        return MonotoneBandit(**asked)
    if set(asked) - {"random_state"}:
        raise InvalidParameterError(
            "--initial has its own range of rewards: leave --reward-range and --clip-rewards out"
        )
    found = load(initial)
    if not isinstance(found, MonotoneBandit):
        raise InvalidParameterError(f"{initial} holds a {type(found).__name__}: give a bandit")
    if "random_state" in asked:
        found.reseed(asked["random_state"])
    return found


class _Progress:
    """Shows how many rounds are learned, whenever they have doubled; says whether to go on."""

    def __init__(self, err: Outlet, stop: Stop, *, quiet: bool) -> None:
        self._err, self._stop, self._quiet = err, stop, quiet
        self._due = 1024
        self.bar: Any = nullcontext()
        self._status: Any = None
        if not quiet and sys.stderr.isatty():
            from rich.console import Console

            self.bar = self._status = Console(stderr=True).status("0 rounds")

    def __call__(self, learned: "LearnedLog") -> bool:
        if learned.rounds >= self._due:
            self._due *= 2
            words = f"{learned.rounds:,} rounds, mean reward {learned.reward / learned.rounds:.4f}"
            if self._status is not None:
                self._status.update(words)
            elif not self._quiet:
                self._err.say(f"{_NAME}: {words}")
        return self._stop() is None


def _tell(
    learned: "LearnedLog", learner: "MonotoneBandit", model: Path, err: Outlet, *, json: bool, quiet: bool
) -> None:
    for words in learned.messages:
        err.say(f"bad line: {with_flags(escaped(words), _FLAGS)}")
    if learned.bad > len(learned.messages):
        err.say(f"bad line: and {counted(learned.bad - len(learned.messages), 'more line')}")
    for words in learned.warnings:
        err.say(f"warning: {with_flags(escaped(words), _FLAGS)}")
    if json:
        facts = {**vars(learned), "model": str(model), "features": int(learner.weights.size)}
        Outlet(sys.stdout).say(json_format.dumps(facts, indent=2, allow_nan=False))
    elif not quiet:
        Outlet(sys.stdout).say(f"{learned}; {learner.weights.size:,} features; written to {model}")
    if not learned.complete:
        err.say(f"{_NAME}: stopped; {model} is what was learned so far" if learned.rounds else
                f"{_NAME}: stopped before anything was learned")  # fmt: skip
