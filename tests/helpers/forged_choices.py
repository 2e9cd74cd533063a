"""Choices that somebody else put together: changed ones with the digest they had, and ones signed with the true key."""

from massart.learners.choice import Choice, Signer

FIELDS = ("arm", "probabilities", "greedy", "contexts", "policy", "number", "memo", "epoch", "digest")


def changed(choice, **fields):
    """The choice with other parts; its digest stays unless it is one of them."""
    return Choice(**{name: fields.get(name, getattr(choice, name)) for name in FIELDS})


def resigned(bandit, choice, **fields):
    """The same, signed with the bandit's own key: what only its owner can do."""
    forged = changed(choice, **fields)
    return changed(forged, digest=Signer(bandit.key).digest(forged))
