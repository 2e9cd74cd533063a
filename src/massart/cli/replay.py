"""`massart replay`: check that the model of a service is what its log says."""

import json as json_format
import sys
from typing import Annotated

from massart.cli._command import reporting
from massart.cli.parameters import Option
from massart.cli.process import Outlet, leave
from massart.cli.serve import opened
from massart.errors import InvalidParameterError, counted, needs

_NAME = "massart replay"


def replay(
    db: Annotated[
        str, Option("--db", metavar="URL", help="The database: sqlite:///FILE or postgresql://...")
    ] = "sqlite:///massart.db",
    loop: Annotated[str | None, Option("--loop", metavar="NAME", help="One loop only.", show_default=False)] = None,
    models_only: Annotated[
        bool, Option("--models-only", help="Make the models again, but not the decisions: this is faster.")
    ] = False,
    json: Annotated[bool, Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Make the models of a service again from its log, and every decision from the model that made it, to the bit.

    A database in SQLite must not be in use. The exit code is 1 if anything differs.

    [bold]Example[/bold]

    massart replay --db sqlite:///shop.db
    """
    different = 0
    with reporting(_NAME):
        needs("msgspec", "service", "to read the log of a service")
        from massart.service import replay as work

        store = opened(db, is_there=True)
        try:
            rows = [row for row in store.loops() if loop in (None, row.name)]
            if not rows:
                raise InvalidParameterError(f"there is no loop {loop!r} in {db}" if loop else f"{db} has no loops")
            out = Outlet(sys.stdout)
            for row in rows:
                found = work.replay(store, row, decisions=not models_only)
                different += found.different
                if json:
                    out.say(json_format.dumps(found._asdict()))
                    continue
                same = "all as in the log" if not found.different else counted(found.different, "difference")
                kept = "no snapshot" if found.snapshot is None else f"snapshot of version {found.snapshot:,}"
                steps, decisions = counted(found.steps, "step"), counted(found.decisions, "decision")
                out.say(f"{found.loop}: {steps}, {decisions}, {kept}: {same}")
                for words in found.differences:
                    out.say(f"  {words}")
        finally:
            store.close()
    if different:
        leave(1)
