"""Certificates: what is proved of the mistakes so far, in numbers and in one sentence; a classifier's summary."""

from collections.abc import Mapping, Sequence
from math import ceil, inf, isfinite
from typing import Any

from massart.errors import counted
from massart.values import Value

_SHOWN = 4  # experts of a pool that a summary names
_SHOWN_GROUPS = 20  # groups that it names
_ONE_HALF = 0.4995  # a limit that is as good as one half
_UNPROVED = "nothing is proved for weights that a label decides, rows learned twice, or shards that were mixed"
SAYS_NOTHING, WITHIN, CONTRADICTS = "says nothing yet", "within the bound", "contradicts the declaration"


class Certificate(Value):
    """What is proved of the mistakes if labels are flipped with probability at most `noise_rate`, at margin `margin`.

        E[mistakes] <= mistake_bound = noise_rate * rounds + regret_bound      (one halfspace: Theorem 12)
        P(mistakes <= confident_mistake_bound at every round) >= confidence    (Theorems 12 and 14)

    Both use the path: the gradients really seen. A pool of several experts names its noise rate and margin after the
    fact, so only the second statement is proved for it, and `mistake_bound` is the same number. Rounds and mistakes are
    sums of weights when there are weights. With more than two classes the bounds of the halfspaces, one per class, add
    up; `noise_rate` is then the largest of theirs, `margin` the smallest.

    Parameters
    ----------
    evidence : an e-value: if the declaration is true, it exceeds 1 / (1 - confidence) at some round with probability
        at most 1 - confidence, however often one looks. It may be multiplied over independent streams.
    holds : False when the evidence does so: the declaration cannot be true. Never False if rows had unequal sample
        weights, were learned more than once, or in shards: then the theorem need not apply, whatever the stream is.
    constant_mistakes : what always answering the more frequent label so far would have got wrong.
    applies : whether what the theorem assumes of weights and repetitions is known to hold. If it is known not to
        hold, the bounds are the number of rounds.
    classes : the number of classes.
    weighted : whether rounds and mistakes are sums of weights rather than counts; the sentence then says so.
    """

    rounds: float
    mistakes: float
    noise_rate: float
    margin: float
    regret_bound: float
    mistake_bound: float
    confident_mistake_bound: float
    confidence: float
    holds: bool
    evidence: float = 0.0
    constant_mistakes: float = inf
    applies: bool = True
    classes: int = 2
    weighted: bool = False

    @property
    def says_nothing(self) -> bool:
        """Whether always predicting the more frequent label, or at random, is bounded as well as the learner is."""
        return not self.confident_mistake_bound < min(self.constant_mistakes, self.rounds / 2)

    @property
    def verdict(self) -> str:
        """One of "says nothing yet", "within the bound", "contradicts the declaration"."""
        if not self.holds:
            return CONTRADICTS
        return SAYS_NOTHING if self.says_nothing or self._exceeded else WITHIN

    @property
    def _exceeded(self) -> bool:
        return self.mistakes > self.confident_mistake_bound

    @property
    def rounds_needed(self) -> int | None:
        """About how many rounds until the bound says something, if its excess goes on growing like sqrt(rounds).

        None if it does not come, the noise rate not being below the share of the rarer label; and for more than two
        classes, whose bounds are a sum.
        """
        if self.rounds <= 0.0 or self.classes > 2:
            return None
        room = min(self.constant_mistakes / self.rounds, 0.5) - self.noise_rate
        excess = self.confident_mistake_bound - self.noise_rate * self.rounds
        needed = excess * excess / (self.rounds * room * room) if room > 0.0 else inf
        return ceil(needed) if isfinite(needed) else None

    @property
    def sentence(self) -> str:
        """The verdict with its numbers, in one line: the same wherever a certificate is shown."""
        seen = f"{counted(round(self.mistakes), 'mistake')} in {counted(round(self.rounds), 'round')}"
        if self.weighted:
            seen = f"mistakes of weight {self.mistakes:,.0f} in rounds of weight {self.rounds:,.0f}"
        declared = f"noise rate {self.noise_rate:.3g}, margin {self.margin:.2g}"
        sure = f"{self.confident_mistake_bound:,.0f} at {self.confidence:.4g}"
        if self.verdict == CONTRADICTS:
            return (
                f"{CONTRADICTS}: {seen}; the labels rule out {declared} at confidence {self.confidence:.4g}: "
                "the noise rate is higher or the margin smaller"
            )
        if self.verdict == WITHIN:
            expected = ""
            if self.mistake_bound < self.confident_mistake_bound:
                above = "more than" if self.mistakes > self.mistake_bound else "at most"
                expected = f", {above} {self.mistake_bound:,.0f} expected"
            return f"{WITHIN}: {seen}; at most {sure}{expected}, for {declared}"
        if self.rounds <= 0.0:
            return f"{SAYS_NOTHING}: no round has been learned"
        if not self.applies and (self._exceeded or self.confident_mistake_bound == self.rounds):
            return f"{SAYS_NOTHING}: {seen}; {_UNPROVED}"
        parts = [f"{SAYS_NOTHING}: {seen}, bound {sure} for {declared}"]
        if isfinite(self.constant_mistakes):
            parts.append(f"always answering the more frequent label makes {self.constant_mistakes:,.0f}")
        if self.rounds_needed is not None:
            parts.append(f"needs about {self.rounds_needed:,} rounds at this rate")
        elif self.classes == 2:
            parts.append("no number of rounds is enough while the rarer label is no more frequent than the noise rate")
        return "; ".join(parts)

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence

    def _repr_html_(self) -> str:
        """For notebooks."""
        verdict, _, words = self.sentence.partition(": ")
        facts = [
            ("verdict", words),
            ("mistakes", f"{self.mistakes:,.0f} in {self.rounds:,.0f} rounds"),
            ("bound", f"{self.confident_mistake_bound:,.0f} at confidence {self.confidence:.4g}"),
            ("assumes", f"noise rate {self.noise_rate:.3g}, margin {self.margin:.2g}, {self.classes} classes"),
        ]
        return facts_html(facts, f"Certificate: {verdict}")

    def without_bound(self, unproved: bool) -> "Certificate":
        """The same, but for bounds, if what the theorem assumes is known not to hold."""
        if not unproved:
            return self
        excess = (1.0 - self.noise_rate) * self.rounds
        return self.replace(regret_bound=excess, mistake_bound=self.rounds, confident_mistake_bound=self.rounds)


def noise_rate_words(rate: float) -> str:
    """A lower confidence limit of 99% for the noise rate in words, the same wherever it is shown.

    >>> noise_rate_words(0.0), noise_rate_words(0.05)
    ('no lower limit yet', 'above 0.05 (lower confidence limit, 99%)')
    >>> noise_rate_words(0.5)
    'no noise rate below one half is compatible (99%)'
    """
    if rate <= 0.0:
        return "no lower limit yet"
    if rate >= _ONE_HALF:
        return "no noise rate below one half is compatible (99%)"
    return f"above {rate:.2g} (lower confidence limit, 99%)"


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    """A certificate for JSON, with its verdict and sentence; None for numbers that JSON does not have."""
    facts = certificate.asdict() | {
        name: getattr(certificate, name) for name in ("says_nothing", "verdict", "rounds_needed", "sentence")
    }
    return {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in facts.items()}


def group_lines(groups: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """(name, words) of groups from facts as `Grouped.facts` gives them, the most rows first; of many, the first."""
    ordered = sorted(groups.items(), key=lambda pair: -pair[1]["rows"])
    lines = []
    for name, facts in ordered[:_SHOWN_GROUPS]:
        certificate = facts["certificate"]
        bound = f"bound {certificate['verdict']}"
        if certificate["verdict"] == WITHIN:
            most, confidence = certificate["confident_mistake_bound"], certificate["confidence"]
            declared = f"noise rate {certificate['noise_rate']:.3g}, margin {certificate['margin']:.2g}"
            bound = f"at most {most:,.0f} at {confidence:.4g}, for {declared}"
        seen = f"{counted(facts['mistakes'], 'mistake')} in {counted(facts['rows'], 'row')} ({facts['error']:.2%})"
        lines.append((name, f"{seen}; {bound}"))
    if len(ordered) > _SHOWN_GROUPS:
        lines.append(("...", f"and {counted(len(ordered) - _SHOWN_GROUPS, 'other group')}"))
    return lines


def _facts(model: Any) -> list[tuple[str, str]]:
    share = model.mistakes_ / max(1, model.rounds_)
    facts = [
        ("classes", ", ".join(map(str, model.classes_))),
        ("rows learned", f"{model.rounds_:,}"),
        ("predicted wrongly", f"{model.mistakes_:,} ({share:.1%}), each before it was learned"),
        ("bound", model.certificate().sentence),
        ("noise rate", noise_rate_words(model.noise_rate_)),
    ]
    facts += [(f"group {name}", words) for name, words in group_lines(getattr(model._learner, "facts", dict)())]
    weights = model.expert_weights_
    is_one = all(isinstance(share, float) for share in weights.values())
    pools = {"": weights} if is_one else {f" for {label}": own for label, own in weights.items()}
    for whom, shares in pools.items():
        named = [f"{name} {part:.0%}" for name, part in list(shares.items())[:_SHOWN] if part >= 0.005]
        facts.append((f"expert weights{whom}", "; ".join(named)))
    return facts


def as_text(model: Any) -> str:
    """One fact per line, aligned."""
    facts = _facts(model)
    width = max(len(name) for name, _ in facts)
    return "\n".join([repr(model), *(f"  {name:<{width}}  {fact}" for name, fact in facts)])


def as_html(model: Any) -> str:
    """The same as a table."""
    return facts_html(_facts(model))


def facts_html(facts: Sequence[tuple[str, str]], title: str = "") -> str:
    """Facts as a table for notebooks, without colours of its own, so that it suits a light and a dark page.

    >>> facts_html([("a<b", "x & y")]).count("&lt;"), "<b>" in facts_html([], title="<b>")
    (1, False)
    """
    from html import escape  # noqa: PLC0415 - for notebooks alone

    rows = "".join(
        f'<tr><th style="text-align:left;white-space:nowrap;vertical-align:top;padding:2px 12px 2px 0">{escape(name)}'
        f'</th><td style="text-align:left;padding:2px 0">{escape(fact)}</td></tr>'
        for name, fact in facts
    )
    head = f'<div style="font-weight:600">{escape(title)}</div>' if title else ""
    return f'{head}<table style="border:none;margin-top:8px">{rows}</table>'
