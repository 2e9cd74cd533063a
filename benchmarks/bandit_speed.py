"""Choose and learn, one decision at a time: massart's bandit and its peers, side by side in one run; ratios out.

    python benchmarks/bandit_speed.py --json results/bandit_speed.json

Ten arms with 50 features each. Vowpal Wabbit is given its lines of text ready made; only the label is put in front of
one of them. Then rounds of a thousand arms with 20 hashed features each; then how the time grows with the number of
arms and of features, and how many rounds per second a simulation plays at once. By the clock, alone on the machine,
with one thread for BLAS and OpenMP.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from measuring import Contender, Elapsed, Finding, Section, Wanted, interleave, quotients, stopwatch
from numpy.typing import NDArray
from report import begin, console, options_of, print_section, progress, write_json
from scipy.sparse import csr_matrix
from workloads import SEED

from massart import MonotoneBandit

ARMS, FEATURES, REWARD = 10, 50, 0.5
OURS = "MonotoneBandit, default settings"
ROUNDS, SLOW_ROUNDS, SIMULATED = 2_000, 300, 100_000
WANTED_RATE = 300_000
MANY, NONZEROS, BITS = 1_000, 20, 18  # arms with hashed features, 2^BITS columns
HASHED_ROUNDS, KNOWN_ROUNDS = 40, 20  # timed, and before that


def contexts(rounds: int, arms: int, features: int) -> NDArray[np.float64]:
    """Normal rows of norm about 1, and at most 1, as a known margin wants them."""
    rng = np.random.default_rng([SEED, rounds, arms, features])
    rows = rng.standard_normal((rounds, arms, features)) / np.sqrt(features)
    return np.asarray(rows / np.maximum(1.0, np.linalg.norm(rows, axis=2, keepdims=True)))


def ours(name: str, rows: NDArray[np.float64], **told: float) -> Contender:
    """`choose`, then `learn`."""

    def run() -> Elapsed:
        bandit = MonotoneBandit(random_state=SEED, **told)

        def play() -> None:
            for arms in rows:
                bandit.learn(bandit.choose(arms), REWARD)

        return stopwatch(play)

    return Contender(name, "choose + learn of NumPy arrays", len(rows), run)


def vowpal(rows: NDArray[np.float64]) -> Contender:
    """`predict`, a draw, then `learn`."""
    from vowpalwabbit import Workspace

    lines = [["| " + " ".join(f"{j}:{v:.6g}" for j, v in enumerate(x)) for x in arms] for arms in rows]
    coins = np.random.default_rng(SEED).random(len(rows))

    def run() -> Elapsed:
        workspace = Workspace("--cb_explore_adf --epsilon 0.1 --quiet")

        def play() -> None:
            for arms, coin in zip(lines, coins, strict=True):
                chances = workspace.predict(arms)
                arm = min(int(np.searchsorted(np.cumsum(chances), coin)), len(arms) - 1)
                labelled = [*arms[:arm], f"0:{-REWARD}:{chances[arm]} {arms[arm]}", *arms[arm + 1 :]]
                workspace.learn(labelled)

        return stopwatch(play)

    return Contender("Vowpal Wabbit", "--cb_explore_adf, predict + learn, ready text", len(rows), run)


def river(rows: NDArray[np.float64]) -> Contender:
    """Its contextual linear policy, as `massart.arena.registry` makes it."""
    from massart.arena.registry import POLICIES

    def run() -> Elapsed:
        policy = POLICIES.make("river-linucb", dimension=FEATURES, arms=ARMS, seed=SEED)

        def play() -> None:
            for arms in rows:
                policy.learn(policy.choose(arms), REWARD)

        return stopwatch(play)

    return Contender("river", "LinUCBDisjoint, choose + learn", len(rows), run)


def mabwiser(rows: NDArray[np.float64]) -> Contender:
    """LinUCB with a model per arm; it takes one context for all arms, here that of the first."""
    from mabwiser.mab import MAB, LearningPolicy

    names = list(range(ARMS))

    def run() -> Elapsed:
        policy = MAB(names, LearningPolicy.LinUCB(alpha=1.0), seed=SEED)
        policy.fit(names, [REWARD] * ARMS, rows[0])

        def play() -> None:
            for arms in rows:
                context = arms[:1]
                policy.partial_fit([policy.predict(context)], [REWARD], context)

        return stopwatch(play)

    return Contender("MABWiser", "LinUCB, predict + partial_fit", len(rows), run)


def versus_section(repeats: int, part: int, tick: Callable[..., Any]) -> Section:
    """One decision after the other, by everybody; 1/part of the usual number of them."""
    rows = contexts(ROUNDS // part, ARMS, FEATURES)
    contenders = [ours(OURS, rows), ours("MonotoneBandit, gap and margin given", rows, gap=0.05, margin=0.05)]
    absent = {}
    for name, invite in (("Vowpal Wabbit", vowpal), ("river", river), ("MABWiser", mabwiser)):
        try:
            contenders.append(invite(rows[: SLOW_ROUNDS // part]))
        except ImportError as error:
            absent[name] = f"not installed ({error})"
    seconds = interleave(contenders, repeats, tick)
    mine = seconds[OURS].wall
    findings = [
        Finding(c.name, c.measures, quotients(seconds[c.name].wall, mine), Wanted(at_least=4.0))
        if c.name in ("Vowpal Wabbit", "river", "MABWiser")
        else Finding(c.name, c.measures, quotients(seconds[c.name].wall, mine))
        for c in contenders[1:]
    ]
    about = f"k = {ARMS}, d = {FEATURES}. Numbers: time for a decision, in times of {OURS}."
    return Section("One decision at a time", about, "times", contenders, seconds, findings, absent)


def hashed(rounds: int) -> list[csr_matrix]:
    """Rounds of MANY arms with NONZEROS ones each, in columns that are drawn uniformly."""
    rng = np.random.default_rng([SEED, rounds])
    made = []
    for _ in range(rounds):
        columns = np.array([np.sort(rng.choice(1 << BITS, NONZEROS, replace=False)) for _ in range(MANY)])
        parts = (np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, NONZEROS))
        made.append(csr_matrix(parts, shape=(MANY, 1 << BITS)))
    return made


def ours_hashed(rows: list[csr_matrix], known: int) -> Contender:
    """`choose`, then `learn`, after `known` rounds that are not timed."""

    def run() -> Elapsed:
        bandit = MonotoneBandit(random_state=SEED)

        def play(part: list[csr_matrix]) -> None:
            for arms in part:
                bandit.learn(bandit.choose(arms), REWARD)

        play(rows[:known])
        return stopwatch(lambda: play(rows[known:]))

    return Contender(OURS, "choose + learn of CSR matrices", len(rows) - known, run)


def vowpal_hashed(rows: list[csr_matrix], known: int) -> Contender:
    """`predict`, a draw, then `learn`, after `known` rounds that are not timed."""
    from vowpalwabbit import Workspace

    lines = [["| " + " ".join(map(str, own)) for own in arms.indices.reshape(MANY, NONZEROS)] for arms in rows]
    coins = np.random.default_rng(SEED).random(len(rows))

    def run() -> Elapsed:
        workspace = Workspace(f"--cb_explore_adf --epsilon 0.1 --quiet -b {BITS} --noconstant")

        def play(start: int, stop: int) -> None:
            for arms, coin in zip(lines[start:stop], coins[start:stop], strict=True):
                chances = workspace.predict(arms)
                arm = min(int(np.searchsorted(np.cumsum(chances), coin)), len(arms) - 1)
                labelled = [*arms[:arm], f"0:{-REWARD}:{chances[arm]} {arms[arm]}", *arms[arm + 1 :]]
                workspace.learn(labelled)

        play(0, known)
        return stopwatch(lambda: play(known, len(lines)))

    return Contender("Vowpal Wabbit", f"--cb_explore_adf -b {BITS}, ready text", len(rows) - known, run)


def hashed_section(repeats: int, part: int, tick: Callable[..., Any]) -> Section:
    """Rounds of many arms with few non-zeros in many columns."""
    known = max(2, KNOWN_ROUNDS // part)
    rows = hashed(known + max(2, HASHED_ROUNDS // part))
    contenders, absent = [ours_hashed(rows, known)], {}
    try:
        contenders.append(vowpal_hashed(rows, known))
    except ImportError as error:
        absent["Vowpal Wabbit"] = f"not installed ({error})"
    seconds = interleave(contenders, repeats, tick)
    mine = seconds[OURS].wall
    findings = [Finding("milliseconds per round", OURS, [1e3 * one for one in mine], Wanted(at_most=1.0))]
    findings += [
        Finding(c.name, f"{c.measures}, in times of ours", quotients(seconds[c.name].wall, mine), Wanted(at_least=4.0))
        for c in contenders[1:]
    ]
    about = f"k = {MANY:,}, {NONZEROS} non-zeros in 2^{BITS} columns; {known} rounds before are not timed."
    return Section("Many arms with hashed features", about, "number", contenders, seconds, findings, absent)


def growth_section(repeats: int, part: int, tick: Callable[..., Any]) -> Section:
    """Time of a simulated round as arms and features grow fourfold, and rounds per second."""
    sizes = ((5, 10), (20, 10), (5, 200), (20, 200), (5, 800))
    contenders = [_simulation(arms, features, part) for arms, features in sizes]
    seconds = interleave(contenders, repeats, tick)
    times = {size: seconds[c.name].wall for size, c in zip(sizes, contenders, strict=True)}
    rates = [1 / (t * WANTED_RATE) for t in times[sizes[0]]]
    findings = [
        Finding("rounds per second", f"k = 5, d = 10, in units of {WANTED_RATE:,}", rates, Wanted(at_least=1.0)),
        _exponent("exponent of k", times, (5, 200), (20, 200)),
        _exponent("exponent of d", times, (5, 200), (5, 800)),
    ]
    return Section(
        "A simulation at once", "MonotoneBandit.play, default settings.", "number", contenders, seconds, findings
    )


def _simulation(arms: int, features: int, part: int) -> Contender:
    count = max(2_000, SIMULATED * 50 // (arms * features)) // part
    rows = contexts(count, arms, features)
    rewards = np.random.default_rng(SEED).random((count, arms))

    def run() -> Elapsed:
        bandit = MonotoneBandit(random_state=SEED)
        return stopwatch(lambda: bandit.play(rows, rewards))

    return Contender(f"k = {arms}, d = {features}", "play", count, run)


def _exponent(
    name: str, times: dict[tuple[int, int], list[float]], small: tuple[int, int], large: tuple[int, int]
) -> Finding:
    samples = [float(np.log(b / a) / np.log(4.0)) for a, b in zip(times[small], times[large], strict=True)]
    return Finding(name, f"from k, d = {small} to {large}", samples, Wanted(at_most=1.1))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options, repeats = options_of(parser, arguments, rounds=5, quick_rounds=1)
    out, sections = console(), []
    known = begin(out, options.threads, repeats, quick=options.quick)
    facts = {"benchmark": "bandit_speed", "quick": options.quick, "repeats": repeats, "seed": SEED, "machine": known}
    judged, part = known["alone"] and not options.quick, 20 if options.quick else 1
    named = (("decisions", versus_section), ("hashed", hashed_section), ("simulation", growth_section))
    for name, section in named:
        with progress(name) as tick:
            sections.append(section(repeats, part, tick))
        print_section(out, sections[-1], judged)
    if options.json is not None:
        write_json(options.json, facts, sections, judged)


if __name__ == "__main__":
    main()
