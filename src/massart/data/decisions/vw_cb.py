"""VW's text for contextual bandits with a fixed number of actions (`--cb K`): one line per decision.

    2:-1:0.25 |User age:0.3 plan=pro

Action 2 of K, counted from 1, cost -1 and had probability .25. The features are a context that all actions share: arms
are the ids 1 to K, and the context is crossed with them as `massart.data.offers` does it. Lines without a
label are counted and left out. Where this reader is stricter than VW: lines with several labels, which VW takes for
costs of several actions, and actions that are no whole number from 1 on are refused.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from massart.data.decisions.decision import BadLines, Decision, refuse, shown
from massart.data.decisions.vw import Event
from massart.data.offers import offer_of_ids
from massart.data.row_errors import MOST_ENTRIES
from massart.errors import InvalidDataError

__all__ = ["is_labelled", "largest_action", "read_text"]

_LABEL: Final = re.compile(r"\s*(?:[^\t|]*\t)?\s*(\d{1,9}):[^\s|:]+(?::[^\s|:]+)?(?:\s+[^\s|:]+)?\s*\|")
_MOST_ACTIONS: Final = 1 << 16


def is_labelled(text: str) -> bool:
    """Whether a line has a label of this format; two such lines in a row stand for two decisions.

    >>> is_labelled("2:-1:0.25 |u age:3"), is_labelled("shared |u age:3"), is_labelled("|i a:1")
    (True, False, False)
    """
    return _LABEL.match(text) is not None


def largest_action(lines: Iterable[tuple[int, str]]) -> int:
    """Of all labels; 1 if there is none.

    >>> largest_action([(1, "2:-1:0.25 | a"), (2, "3:0:0.5 | b")])
    3
    """
    found = (_LABEL.match(text) for _, text in lines)
    return max((int(one[1]) for one in found if one is not None), default=1)


def read_text(
    lines: Iterable[tuple[int, str]], source: str, skipped: Counter[str], bad: BadLines, actions: int
) -> Iterator[Decision]:
    """Decisions from numbered lines; those without a label are counted in `skipped`, bad lines in `bad`.

    >>> found = next(read_text([(1, "2:-1:0.25 |u age:3")], "log", Counter(), BadLines(), 3))
    >>> found.arms, found.arm, found.reward, found.offer.ids
    (3, 1, 1.0, (1, 2, 3))
    """
    if actions > _MOST_ACTIONS:
        raise InvalidDataError(
            f"{source}: there are {actions:,} actions, more than {_MOST_ACTIONS:,}; log text of cb_adf"
        )
    for line, text in lines:
        if not text.strip():
            continue
        try:
            decision = _decision(line, text, source, actions)
        except InvalidDataError as error:
            bad.take(error)
            continue
        if decision is None:
            skipped["decisions without a label"] += 1
        else:
            yield decision


def _decision(line: int, text: str, source: str, actions: int) -> Decision | None:
    event = Event(source, crossed=True)
    event.add(line, text)
    if event.has_shared:
        refuse(source, line, "shared", "a line of cb_adf text", "read it with `log_format='vw'`")
    if event.arm < 0:
        return None
    if not re.fullmatch(r"\d{1,9}", event.action) or not 1 <= int(event.action) <= actions:
        refuse(source, line, "label", f"{shown(event.action)} is none of the actions 1 to {actions}", "pass `actions`")
    (context,) = event.features()
    if actions * (1 + len(context)) > MOST_ENTRIES:
        refuse(source, line, "line", f"with {actions:,} actions it has too many features", "log fewer features")
    offer = offer_of_ids(tuple(range(1, actions + 1)), context)
    reward, arm = 0.0 - event.cost, int(event.action) - 1
    return Decision(offer.matrix(), arm, event.probability, reward, event_id=event.tag, line=line, offer=offer)
