"""A training that is stopped half way, or killed."""

import signal
import time


class After:
    """Says "stopped by a signal" from the given number of looks on."""

    def __init__(self, looks: int, signal: int = 15) -> None:
        self.looks = looks
        self.signal = signal

    def __call__(self) -> int | None:
        self.looks -= 1
        return self.signal if self.looks < 0 else None


def finished_or_killed(process, checkpoint, rng):
    """Kill the process at a random moment: while it starts, or some time after its next or second next checkpoint."""
    news = rng.choice([0, 1, 1, 2])
    moment = time.monotonic() + (rng.uniform(0.0, 1.0) if news == 0 else 60.0)

    def version():
        try:
            return checkpoint.stat().st_ino, checkpoint.stat().st_mtime_ns
        except OSError:
            return None

    last = version()
    while process.poll() is None and news >= 0 and time.monotonic() < moment:
        if (now := version()) != last:
            last, news = now, news - 1
            if news <= 0:
                time.sleep(rng.uniform(0.0, 0.02))
                break
        time.sleep(0.001)
    process.kill()
    return process.wait(60) != -signal.SIGKILL
