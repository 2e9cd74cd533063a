"""No file of a bandit or ranker, and no choice, makes the process read or write outside its memory."""

import json
import os
import sys
from pathlib import Path

import bandit_file_forging as forging
import numpy as np
import processes
import pytest
import scipy.sparse as sp
import tiers

from massart import MonotoneBandit, MonotoneRanker, load, save
from massart.errors import InvalidDataError, MassartError, ModelFileError
from massart.kernels.learning import ranking as kernel
from massart.kernels.ranking_door import CheckedArms, CheckedRound, check_arms
from massart.kernels.ranking_state import RankingState
from massart.models.model_file import write_model

COUNT = tiers.FUZZ
CHECKED = min(COUNT, 2_000)  # with bounds checking
FILES = 300  # written and opened, of each kind
D = 3


def trained(expire_after=None):
    bandit, rng = MonotoneBandit(random_state=0, expire_after=expire_after), np.random.default_rng(0)
    for _ in range(10):
        bandit.learn(bandit.choose(rng.normal(size=(4, D))), 1.0)
    return bandit


def ranker():
    made, rng = MonotoneRanker(), np.random.default_rng(0)
    for _ in range(10):
        made.learn(rng.normal(size=(4, D)) / 4, rng.random(4))
    return made


@pytest.mark.parametrize("shape", [(D, 0), (0, 4), (0, 1), (D, 1), (D, 5), (0, 0)])
@pytest.mark.parametrize("made", [trained, ranker])
def test_weights_of_another_shape_are_refused(made, shape, tmp_path):
    """Weights (d, 0) and (0, k) passed as "empty" and were written to in `choose` and `learn`."""
    policy = made()
    arrays = policy.arrays()
    if arrays["weights"].shape == shape:
        return
    arrays["weights"] = np.zeros(shape)
    kind = "bandit" if isinstance(policy, MonotoneBandit) else "ranker"
    write_model(tmp_path / "m", kind, {}, arrays)
    with pytest.raises(ModelFileError, match="weights"):
        load(tmp_path / "m")


@pytest.mark.parametrize("kind", ["bandit", "ranker"])
def test_forged_arrays_are_refused_or_used_without_harm(kind):
    refused, used = forging.run(kind, COUNT)
    assert refused + used == COUNT
    assert used > COUNT // 50  # some changes are harmless: the rest is not refused for one reason only


@pytest.mark.parametrize("kind", ["bandit", "ranker"])
def test_nothing_is_out_of_bounds(kind):
    environment = os.environ | {"MASSART_JIT": "1", "NUMBA_BOUNDSCHECK": "1"}
    program = Path(forging.__file__)
    command = [sys.executable, "-W", "error", str(program), kind, str(CHECKED)]
    ended = processes.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert sum(json.loads(ended.stdout)) == CHECKED


@pytest.mark.parametrize("kind", ["bandit", "ranker"])
def test_forged_files_are_refused_or_used_without_harm(kind, tmp_path):
    rng, sources, opened = np.random.default_rng(7), forging.originals(kind), 0
    for n in range(FILES):
        arrays = forging.forged(sources[n % len(sources)], rng)
        try:
            write_model(tmp_path / "m", kind, {}, arrays)
            policy = load(tmp_path / "m")
        except MassartError:
            continue
        opened += 1
        forging.use(policy, kind, rng)
    assert opened


def test_what_is_checked_is_made_by_the_checker_only():
    for kind in (CheckedArms, CheckedRound, RankingState):
        with pytest.raises(TypeError, match="made by"):
            kind()


@pytest.mark.parametrize("name", ["arms", "margins", "distances", "rates", "shares"])
def test_the_memo_of_a_choice_cannot_be_changed(name):
    """`choice.memo["arms"][:] = 10**7` made `learn` write far outside of the weights."""
    bandit = trained()
    choice = bandit.choose(np.eye(D))
    with pytest.raises(ValueError, match="read-only"):
        choice.memo[name][:] = 10**7
    with pytest.raises(ValueError, match="read-only"):
        choice.contexts[:] = np.nan
    with pytest.raises(AttributeError):
        choice.arm = 10**7
    with pytest.raises(ValueError, match="WRITEABLE"):
        choice.contexts.flags.writeable = True
    # Whoever insists changes a copy: what teaches is the bandit's own.
    memo = choice.memo
    memo[name].flags.writeable = True
    memo[name][:] = 10**7
    bandit.learn(choice, 1.0)
    assert np.isfinite(bandit.weights).all()


BREAKS = [("indices", [0, 1, 10**6]), ("indices", [0, 1, -5]), ("indptr", [0, 1, 2, 10**6]), ("indptr", [0, 3, 1, 3]),
          ("indptr", [0, 1]), ("indices", [0, 1]), ("data", [1.0])]  # fmt: skip


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize(("name", "value"), BREAKS)
def test_sparse_contexts_that_do_not_fit_together_are_refused(form, name, value):
    """Matrices that SciPy does not check again."""
    bandit, broken = trained(), sp.csr_matrix(np.eye(3, D)).asformat(form)
    if form == "coo":
        broken.coords = (np.array([0, 1, 10**6]), np.array(value[:3] if len(value) > 2 else [0, 1, 2]))
    else:
        setattr(broken, name, np.array(value, dtype=getattr(broken, name).dtype))
    with pytest.raises(InvalidDataError, match="contexts"):
        bandit.choose(broken)


def test_arms_are_taken_as_they_were():
    """A choice and what teaches it do not change when the caller's arrays do, dense or sparse, masked or not."""
    for form in (np.array, sp.csr_matrix, sp.coo_matrix):
        X, mask = form(np.eye(3, D)), np.array([True, True, False])
        arms = check_arms(X, mask)
        (X if form is np.array else X.data)[:] = 7.0
        mask[:] = False
        assert np.array_equal(np.asarray(sp.csr_matrix(arms.contexts).todense()), np.eye(3, D))
        assert arms.allowed.tolist() == [True, True, False]


@pytest.mark.parametrize("expire_after", [None, 5])
def test_a_choice_of_a_bandit_with_other_shapes_is_refused(expire_after):
    """The same identity in a file of another width: a choice in hand does not fit."""
    bandit = trained(expire_after)
    choice = bandit.choose(np.eye(D))
    arrays = bandit.arrays()
    for name in ("weights", "fast_weights", "columns"):
        arrays[name] = np.concatenate([arrays[name], np.zeros((4, arrays[name].shape[1]))])
    if expire_after is not None:
        with pytest.raises(ModelFileError):
            MonotoneBandit.from_arrays(arrays)
        return
    other = MonotoneBandit.from_arrays(arrays)
    other._signer = bandit._signer
    with pytest.raises(InvalidDataError, match="features"):
        other.learn(choice, 1.0)
    experts = {name: arrays[name][..., :1].copy() for name in arrays if name.endswith(("weights", "experts", "behind"))}
    other = MonotoneBandit.from_arrays(arrays | experts)
    other._signer = bandit._signer
    with pytest.raises(InvalidDataError, match="experts"):
        other.learn(choice, 1.0)


def test_every_invariant_of_the_state_is_checked():
    """One number out of its range at a time, for every row of `experts`, `totals` and `how`."""
    bandit = trained()
    whole = bandit.arrays()
    for name in ("how", "experts", "totals", "weights"):
        for row in range(len(whole[name])):
            for value in (np.nan, np.inf, -np.inf, 1.7e308, -1.7e308):
                arrays = {key: array.copy() for key, array in whole.items()}
                arrays[name][row] = value
                with pytest.raises(ModelFileError, match=name):
                    MonotoneBandit.from_arrays(arrays)
    out = {
        "totals": {
            kernel.Total.ROUNDS: 11,
            kernel.Total.CHOICES: 2.0**49,
            kernel.Total.BASELINE: 2,
            kernel.Total.SPREAD: -1,
        },
        "experts": {
            kernel.Expert.KEPT: 11,
            kernel.Expert.SCALE: 0,
            kernel.Expert.GAMMA: 5e-324,
            kernel.Expert.DELTA: 1e-30,
            kernel.Expert.FIRST: 1e90,
        },
        "how": {
            kernel.Setting.HORIZON: 1e16,
            kernel.Setting.PAPER: 0.5,
            kernel.Setting.FLOOR: 1.5,
            kernel.Setting.LOWEST: 1.0,
        },
    }
    for name, row, value in [(name, row, value) for name, rows in out.items() for row, value in rows.items()]:
        arrays = {key: array.copy() for key, array in whole.items()}
        arrays[name][row] = value
        with pytest.raises(ModelFileError, match=name):
            MonotoneBandit.from_arrays(arrays)


def test_what_save_writes_load_opens(tmp_path):
    """And what could not be opened is not written: the old file stays."""
    bandit = trained()
    save(bandit, tmp_path / "m")
    bandit._state.weights[0, 0] = np.inf
    before = (tmp_path / "m").read_bytes()
    with pytest.raises(ModelFileError, match="finite"):
        save(bandit, tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    load(tmp_path / "m")
