"""What a fitted classifier says about itself: a few lines for a terminal, a small table for a notebook."""

from dataclasses import asdict
from html import escape
from math import isfinite
from typing import Any

from massart.learners.certificate import Certificate

_SHOWN = 4  # experts of a pool that are named
_ONE_HALF = 0.4995  # a limit that is as good as one half


def noise_rate_words(rate: float) -> str:
    """What a lower confidence limit of 99% for the noise rate says, the same wherever it is shown.

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
    facts = asdict(certificate) | {
        name: getattr(certificate, name) for name in ("says_nothing", "verdict", "rounds_needed", "sentence")
    }
    return {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in facts.items()}


def _facts(model: Any) -> list[tuple[str, str]]:
    share = model.mistakes_ / max(1, model.rounds_)
    facts = [
        ("classes", ", ".join(map(str, model.classes_))),
        ("rows learned", f"{model.rounds_:,}"),
        ("predicted wrongly", f"{model.mistakes_:,} ({share:.1%}), each before it was learned"),
        ("bound", model.certificate().sentence),
        ("noise rate", noise_rate_words(model.noise_rate_)),
    ]
    weights = model.expert_weights_
    pools = {"": weights} if len(model.classes_) == 2 else {f" for {label}": own for label, own in weights.items()}
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
    """The same as a table without colours of its own, so that it suits a light and a dark page."""
    rows = "".join(
        f'<tr><th style="text-align:left;white-space:nowrap;padding:2px 12px 2px 0">{escape(name)}</th>'
        f'<td style="text-align:left;padding:2px 0">{escape(fact)}</td></tr>'
        for name, fact in _facts(model)
    )
    return f'<table style="border:none;margin-top:8px">{rows}</table>'
