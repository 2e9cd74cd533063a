"""What the names in the rows stand for: a sentence for each world and learner, and which learners are ours.

Rows may come from a file or from objects somebody raced, so a name nobody knows is not an error here.
"""

from massart.errors import InvalidParameterError

__all__ = ["is_known_learner", "is_ours", "is_own_world", "say_learner", "say_world"]


def say_world(name: str) -> tuple[str, bool | None]:
    """What a world does and why learners fail there, and whether it is adaptive.

    >>> sentence, adaptive = say_world("worst-point")
    >>> sentence[:36], adaptive
    ('Shows the row the learner scores wor', True)
    >>> say_world("my-own-data")
    ('A world of your own.', None)
    """
    from massart import worlds  # noqa: PLC0415  NumPy is loaded when a report is made, not before

    try:
        world = worlds.make(name)
    except InvalidParameterError:
        return "A world of your own.", None
    return world.description, world.adaptive


def say_learner(name: str) -> str:
    """One line about a learner."""
    from massart.learners import contestants  # noqa: PLC0415

    try:
        return contestants.describe(name)
    except InvalidParameterError:
        return "A learner of your own."


def is_ours(name: str) -> bool:
    """Whether a learner is one of massart's."""
    from massart.learners import contestants  # noqa: PLC0415

    try:
        return contestants.is_ours(name)
    except InvalidParameterError:
        return False


def is_known_learner(name: str) -> bool:
    """Whether a race can be told to make this learner by its name."""
    from massart.learners import contestants  # noqa: PLC0415

    try:
        contestants.describe(name)
    except InvalidParameterError:
        return False
    return True


def is_own_world(name: str, noise_rate: float, margin: float | None, dimension: int) -> bool:
    """Whether a world is not the one that its name alone makes.

    >>> is_own_world("kink", 0.1, 0.05, 20), is_own_world("kink", 0.1, 0.02, 20)
    (False, True)
    """
    from massart import worlds  # noqa: PLC0415

    try:
        world = worlds.make(name)
    except InvalidParameterError:
        return True
    declared = tuple(getattr(world, key, None) for key in ("noise_rate", "margin", "dimension"))
    return declared != (noise_rate, margin, dimension)  # a reward world has no noise rate
