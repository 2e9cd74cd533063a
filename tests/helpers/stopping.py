"""A training that is stopped half way."""


class After:
    """Says "stopped by a signal" from the given number of looks on."""

    def __init__(self, looks: int, signal: int = 15) -> None:
        self.looks = looks
        self.signal = signal

    def __call__(self) -> int | None:
        self.looks -= 1
        return self.signal if self.looks < 0 else None
