"""What a fitted classifier says about itself: a few lines for a terminal, a small table for a notebook."""

from html import escape
from typing import Any

_SHOWN = 4  # experts of a pool that are named


def _facts(model: Any) -> list[tuple[str, str]]:
    certificate = model.certificate()
    share = model.mistakes_ / max(1, model.rounds_)
    rate = model.noise_rate_
    facts = [
        ("classes", ", ".join(map(str, model.classes_))),
        ("rows learned", f"{model.rounds_:,}"),
        ("predicted wrongly", f"{model.mistakes_:,} ({share:.1%}), each before it was learned"),
        (
            "promised",
            f"at most {certificate.mistake_bound:,.0f} expected, if labels lie at a rate of {certificate.noise_rate:g} "
            f"at most and the margin is {certificate.margin:.2g}",
        ),
        ("verdict", "the mistakes agree with that" if certificate.holds else "the mistakes contradict that"),
        ("noise rate", f"{rate:g} or more" if rate < 0.5 else "no rate below one half agrees with the mistakes"),
    ]
    weights = model.expert_weights_
    pools = {"": weights} if len(model.classes_) == 2 else {f" for {label}": own for label, own in weights.items()}
    for whom, shares in pools.items():
        named = [f"{name} {part:.0%}" for name, part in list(shares.items())[:_SHOWN] if part >= 0.005]
        facts.append((f"believed{whom}", "; ".join(named)))
    return facts


def as_text(model: Any) -> str:
    """One fact per line, aligned."""
    facts = _facts(model)
    width = max(len(name) for name, _ in facts)
    return "\n".join([repr(model), *(f"  {name:<{width}}  {fact}" for name, fact in facts)])


def as_html(model: Any) -> str:
    """The same as a table without colours of its own, so that it suits a light and a dark page."""
    rows = "".join(
        f'<tr><th style="text-align:left;white-space:nowrap;padding:2px 12px 2px 0">{escape(name)}</th>'
        f'<td style="text-align:left;padding:2px 0">{escape(fact)}</td></tr>'
        for name, fact in _facts(model)
    )
    return f'<table style="border:none;margin-top:8px">{rows}</table>'
