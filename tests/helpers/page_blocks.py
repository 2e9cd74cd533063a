"""The blocks of code in pages of Markdown, and the data that the commands of a page find in their folder."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^( *)```([\w-]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)

CLICKS = """
import gzip, random
random.seed(0)
rows = [(random.uniform(0, 20), random.choice(["north", "south"])) for _ in range(300)]
with gzip.open("clicks.csv.gz", "wt") as file:
    print("click,price,region", *(f"{int(p > 10)},{p},{r}" for p, r in rows), sep="\\n", file=file)
with open("tomorrow.csv", "w") as file:
    print("price,region", *(f"{p},{r}" for p, r in rows), sep="\\n", file=file)
"""
ROWS = (
    CLICKS
    + """
with open("clicks.csv", "w") as file:
    print("click,price,region", *(f"{int(p > 10)},{p},{r}" for p, r in rows), sep="\\n", file=file)
"""
)
LOGS = """
import random
from massart import MonotoneBandit, save
from massart.log import JsonlLog
random.seed(0)
bandit = MonotoneBandit(random_state=0)
with JsonlLog("log.jsonl") as log:
    for _ in range(50):
        choice = bandit.choose(["news", "sport"], {"town": random.choice(["Rome", "Oslo"])})
        bandit.learn(choice, float(choice.arm == 0))
        log.write(choice, float(choice.arm == 0))
decisions = []
for _ in range(300):
    arm = random.randrange(2)
    lines = ["|arm a b:0.5", "|arm c b:-0.5"]
    lines[arm] = f"{arm}:{-float(random.random() < (0.3, 0.7)[arm])}:0.5 {lines[arm]}"
    decisions.append("shared |user age:0.3\\n" + "\\n".join(lines) + "\\n")
for name in ("old.vw", "log.vw"):
    with open(name, "w") as file:
        print(*decisions, sep="\\n", file=file)
with open("log.csv", "w") as file:
    print("offer,bought,chance,age,town_rome", file=file)
    for _ in range(300):
        offer = random.choice(["red", "blue"])
        print(offer, int(random.random() < 0.5), 0.5, random.randrange(80), random.randrange(2), sep=",", file=file)
other = MonotoneBandit(random_state=1)
other.learn_log("old.vw")
save(other, "bandit.massart")
"""
DAYS = """
for day in (1, 2, 3):
    with open(f"day{day}.svm", "w") as file:
        print(*(f"{1 if k % 3 else -1} 1:{k % 7} 2:{k % 3}" for k in range(400)), sep="\\n", file=file)
"""
FOUND_THERE = {
    "docs/files.md": CLICKS,
    "docs/label-errors.md": ROWS,
    "docs/decisions.md": LOGS,
    "docs/evaluation.md": LOGS,
    "docs/scale.md": DAYS,
}


class Block(NamedTuple):
    """What stands between two fences."""

    page: str
    language: str
    code: str


def blocks() -> list[Block]:
    """All blocks of all pages, in order."""
    return [
        Block(page.relative_to(ROOT).as_posix(), language, code)
        for page in PAGES
        for _, language, code in FENCE.findall(page.read_text(encoding="utf-8"))
    ]


def commands(block: Block) -> str:
    """The script of a block of a shell: all of it, or what follows the prompts, continued lines joined."""
    if block.language == "bash":
        return block.code
    joined = re.sub(r"\\\n\s*", " ", block.code)
    return "".join(f"{line[2:]}\n" for line in joined.splitlines() if line.startswith("$ "))
