"""Options of commands that can run on several workers, and the cluster that they ask for."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from massart.cli.parameters import Option
from massart.errors import InvalidParameterError

if TYPE_CHECKING:
    from massart.scale.engine import Engine

__all__ = ["Asked", "Scheduler", "Shards", "Workers"]

Scheduler = Annotated[
    str | None,
    Option(metavar="ADDRESS", help="Work on the cluster of this Dask scheduler, as tcp://host:8786."),
]
Workers = Annotated[int | None, Option(min=1, help="Work in so many processes on this machine.")]
Shards = Annotated[
    int | None,
    Option(
        min=1,
        help="Parts of the data that are learned side by side and mixed; the model depends on their number.  "
        "\\[default: one per worker]",
        show_default=False,
    ),
]


class Asked(NamedTuple):
    """Who is to work; false if nothing was said."""

    scheduler: str | None = None
    workers: int | None = None
    shards: int | None = None

    def __bool__(self) -> bool:
        if self.shards is not None and self.scheduler is None and self.workers is None:
            raise InvalidParameterError("--shards says how data is cut for workers: give --workers or --scheduler, too")
        return self.scheduler is not None or self.workers is not None

    def start_loading(self) -> None:
        """Let the processes that will work load what they need, while this one does."""
        if self.workers is not None:
            from massart.scale.processes import start_loading

            start_loading()

    def engine(self) -> "AbstractContextManager[Engine]":
        """The cluster."""
        from massart.scale.engine import connect, local_processes

        if self.scheduler is not None and self.workers is not None:
            raise InvalidParameterError("--scheduler and --workers both say who works: give one of them")
        return local_processes(self.workers or 1) if self.scheduler is None else connect(self.scheduler)

    def refuse(self, **options: Any) -> None:
        """Refuse options that do not go with workers."""
        for name, value in options.items():
            if value:
                raise InvalidParameterError(
                    f"--{name.replace('_', '-')} does not go with workers, which learn side by side: leave it out"
                )
