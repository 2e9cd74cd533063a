"""Three offers; whether one is bought is known some hundred visitors later, or never.

Choices travel as lines of JSON, as they would in a cookie or a queue. After 500 later choices without a reward the
bandit counts one as not bought. Run: python examples/delayed_offers.py
"""

import heapq
from typing import Any

import numpy as np
from tables import show

from massart import Choice, MonotoneBandit

VISITORS, OFFERS = 2_000, ["book", "film", "song"]
BUYS = {("young", "song"): 0.5, ("young", "film"): 0.25, ("old", "book"): 0.5, ("old", "film"): 0.3}


def run(bandit: MonotoneBandit, delay: int, lost: float) -> dict[str, Any]:
    """Visitors one after the other; each reward comes after up to `delay` others, a share of them never."""
    rng = np.random.default_rng(0)
    on_the_way: list[tuple[int, int, str, float]] = []
    sold = 0.0
    for now in range(VISITORS):
        while on_the_way and on_the_way[0][0] <= now:
            _, _, line, reward = heapq.heappop(on_the_way)
            bandit.learn(Choice.from_json(line), reward)
        age = str(rng.choice(["young", "old"]))
        choice = bandit.choose(OFFERS, {"age": age})
        bought = float(rng.random() < BUYS.get((age, str(choice.arm_id)), 0.1))
        sold += bought
        if rng.random() >= lost or bought:
            heapq.heappush(on_the_way, (now + int(rng.integers(0, delay + 1)), now, choice.to_json(), bought))
    return {"sold": sold / VISITORS, "pending": bandit.pending, "on the way": len(on_the_way)}


random_offer = float(np.mean([BUYS.get((age, offer), 0.1) for age in ("young", "old") for offer in OFFERS]))
rows: list[list[object]] = [
    ["a random offer (expected)", random_offer, "-", "-"],
    ["the best offer (expected)", 0.5, "-", "-"],
]
for delay, lost in [(0, 0.0), (400, 0.0), (400, 0.5)]:
    bandit = MonotoneBandit(random_state=0, expire_after=500)
    found = run(bandit, delay, lost)
    what = f"MonotoneBandit(), rewards up to {delay} later" + (", half of the refusals never told" if lost else "")
    rows.append([what, found["sold"], found["pending"], found["on the way"]])
show(f"{VISITORS:,} visitors", ["policy", "sold per visitor", "pending", "of these on the way"], rows)
