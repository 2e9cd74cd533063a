"""Two choices never share an identity, and a choice that comes back changed is refused."""

import copy
import json
import os
import pickle
import stat

import numpy as np
import pytest
import scipy.sparse as sp
from forged_choices import changed, resigned

from massart import Choice, MonotoneBandit, load, save
from massart.errors import InvalidDataError, InvalidParameterError, ModelFileError
from massart.learners.reference.policies import LinUCB
from massart.models.keys import key_path

D, ARMS = 4, 3
KINDS = {
    "known": {"gap": 0.1, "margin": 0.2},
    "default": {},
    "paper": {"gap": 0.5, "margin": 0.5, "horizon": 10**4, "update": "paper"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def trained(kind="default", count=30, seed=0, **more):
    bandit, rng = MonotoneBandit(random_state=seed, **KINDS[kind], **more), np.random.default_rng(1)
    for _ in range(count):
        bandit.learn(bandit.choose(arms(rng)), rng.random())
    return bandit


def arms(rng):
    X = rng.normal(size=(ARMS, D))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * 0.9


def memory(bandit):
    """All that it learned and counts."""
    return {name: bandit.arrays()[name].tobytes() for name in ("weights", "experts", "totals")}


def unpickled(bandit):
    return pickle.loads(pickle.dumps(bandit))  # noqa: S301 - our own


def saved(bandit, path):
    save(bandit, path)
    return load(path)


# ---------------------------------------------------------------------------------------------------------- identity


@every_kind
def test_no_two_choices_share_an_identity(kind, tmp_path):
    """Of the original, of what was loaded twice from one file, of copies and of copies of copies."""
    bandit = trained(kind)
    lives = [bandit, saved(bandit, tmp_path / "m"), load(tmp_path / "m"), bandit.copy(), copy.deepcopy(bandit),
             unpickled(bandit), MonotoneBandit.from_arrays(bandit.arrays())]  # fmt: skip
    lives += [saved(lives[1], tmp_path / "again"), copy.deepcopy(lives[4])]
    choices = [life.choose(np.eye(ARMS, D)) for life in lives for _ in range(20)]
    identities = {choice.identity for choice in choices}
    assert len(identities) == len(choices)
    assert all(len(identity) == 32 and int(identity, 16) >= 0 for identity in identities)
    assert len({choice.epoch for choice in choices}) == len(lives)
    assert {choice.number for choice in choices} == set(range(30, 50))


def test_forked_processes_are_copies_with_identities_and_draws_of_their_own():
    """As a server's workers are that were forked once the bandit had been made, loaded, copied or unpickled."""
    bandit, reference = trained(exploration=0.5), LinUCB(D)  # the default plays one arm nearly always
    lives = [bandit, bandit.copy(), unpickled(bandit), reference]
    waiting = bandit.choose(np.eye(ARMS, D))
    made = [[]]
    for _ in range(4):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            bandit.learn(waiting, 1.0)  # what waited can be learned there
            found = [[life.choose(np.ones((ARMS, D))) for _ in range(60)] for life in lives]
            seen = [[choice.identity for life in found for choice in life], [choice.arm for choice in found[0]]]
            os.write(writing, json.dumps(seen).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as answer:
            made.append(json.load(answer))
        assert os.waitpid(child, 0)[1] == 0
    made[0] = [[life.choose(np.ones((ARMS, D))).identity for life in lives for _ in range(60)], []]
    identities = [identity for seen, _ in made for identity in seen]
    assert len(set(identities)) == len(identities) == 5 * 60 * len(lives)
    assert len({tuple(arms) for _, arms in made}) == 5  # equal arms, 60 times


def test_a_late_reward_is_for_the_choice_it_was_given_for(tmp_path):
    """After a restart numbers go on where the file ends: a choice made after it, and lost, is not another's."""
    bandit = trained()
    before = bandit.choose(np.eye(ARMS, D))
    again = saved(bandit, tmp_path / "m")
    lost = bandit.choose(np.eye(ARMS, D))  # the process ends before the next save
    own = again.choose(-np.eye(ARMS, D))
    assert own.number == lost.number
    state = memory(again)
    for one in (lost, Choice.from_json(lost.to_json())):
        with pytest.raises(InvalidDataError, match="another copy"):
            again.learn(one, 1.0)
    assert memory(again) == state
    again.learn(own, 1.0)
    again.learn(Choice.from_json(before.to_json()), 1.0)
    with pytest.raises(InvalidDataError, match="learned already"):
        again.learn(before, 1.0)
    assert again.rounds == 32


@every_kind
def test_choices_made_before_a_restart_are_learned_after_it_once(kind, tmp_path):
    """By the same bits as without the restart."""
    bandit, rng = trained(kind), np.random.default_rng(5)
    lines = [bandit.choose(arms(rng)).to_json() for _ in range(10)]
    again = saved(bandit, tmp_path / "m")
    for line in lines:
        for one in (bandit, again):
            one.learn(Choice.from_json(line), 0.5)
            with pytest.raises(InvalidDataError, match="learned already"):
                one.learn(Choice.from_json(line), 0.5)
    assert memory(bandit) == memory(again)
    assert again.pending == 0


def test_replicas_of_a_file_draw_arms_of_their_own(tmp_path):
    """300 draws among three equal arms agree with probability 3^-300; with a seed they are those of a new bandit."""
    save(trained(), tmp_path / "m")
    X = np.ones((ARMS, D))
    one, two = ([bandit.choose(X).arm for _ in range(300)] for bandit in (load(tmp_path / "m"), load(tmp_path / "m")))
    assert one != two
    bandit, again = trained(seed=7), saved(trained(seed=7), tmp_path / "m")
    again.reseed(7)
    assert [bandit.choose(X).arm for _ in range(300)] == [again.choose(X).arm for _ in range(300)]
    again.reseed()
    assert [bandit.choose(X).arm for _ in range(300)] != [again.choose(X).arm for _ in range(300)]


def test_a_loaded_bandit_learns_as_the_saved_one_would(tmp_path):
    bandit = trained()
    again = saved(bandit, tmp_path / "m")
    assert memory(bandit) == memory(again)
    X = np.eye(ARMS, D)
    assert np.array_equal(bandit.probabilities(X), again.probabilities(X))


# ------------------------------------------------------------------------------------------------------------ digests


POISON = {
    "contexts of 1e200": lambda parts: parts["contexts"][0].__setitem__(0, 1e200),
    "one context": lambda parts: parts["contexts"][0].__setitem__(0, parts["contexts"][0][0] + 1e-9),
    "a propensity of 7": lambda parts: parts["probabilities"].__setitem__(parts["arm"], 7.0),
    "a small propensity": lambda parts: parts["probabilities"].__setitem__(parts["arm"], 1e-300),
    "another arm": lambda parts: parts.update(arm=(parts["arm"] + 1) % ARMS),
    "another greedy arm": lambda parts: parts.update(greedy=(parts["greedy"] + 1) % ARMS),
    "margins of 5e-324": lambda parts: parts.update(memo=_tiny(parts["memo"])),
    "no digest": lambda parts: parts.update(digest=""),
    "no digest at all": lambda parts: parts.pop("digest"),
    "half a digest": lambda parts: parts.update(digest=parts["digest"][:32]),
    "a digest of others": lambda parts: parts.update(digest="é" * 64),
}


def _tiny(memo):
    margins = memo["margins"]
    if isinstance(margins, list):  # as earlier versions wrote them
        return memo | {"margins": (np.array(margins) * 0 + 5e-324).tolist()}
    choice = Choice(0, np.ones(1), 0, np.ones((1, 1)), "p", 0, {"m": np.full(margins["shape"], 5e-324)})
    return memo | {"margins": json.loads(choice.to_json())["memo"]["m"]}


@every_kind
@pytest.mark.parametrize("how", POISON)
def test_a_choice_that_comes_back_changed_is_refused(kind, how):
    """Each of these was learned, and most made weights or totals infinite."""
    bandit = trained(kind)
    choice = bandit.choose(np.eye(ARMS, D))
    parts, state = json.loads(choice.to_json()), memory(bandit)
    POISON[how](parts)
    with pytest.raises(InvalidDataError, match="digest"):
        bandit.learn(Choice.from_json(json.dumps(parts)), 1.0)
    with pytest.raises(InvalidDataError, match="digest"):
        bandit.expire(Choice.from_json(json.dumps(parts)))
    assert memory(bandit) == state
    bandit.learn(choice, 1.0)


@pytest.mark.parametrize("field", ["arm", "greedy", "number", "epoch", "policy", "contexts", "memo", "probabilities"])
def test_every_field_is_signed(field):
    bandit = trained()
    choice, other = bandit.choose(np.eye(ARMS, D)), bandit.choose(-0.5 * np.eye(ARMS, D))
    value = {"arm": (choice.arm + 1) % ARMS, "greedy": (choice.greedy + 1) % ARMS, "policy": "0" * 32,
             "epoch": choice.epoch ^ 1}.get(field, getattr(other, field))  # fmt: skip
    forged = changed(choice, **{field: value})
    with pytest.raises(InvalidDataError):
        bandit.learn(forged, 1.0)
    assert not bandit._signer.accepts(forged)
    assert bandit._signer.accepts(changed(choice))


def test_the_key_lies_beside_the_model_and_not_in_it(tmp_path):
    bandit = trained()
    save(bandit, tmp_path / "shop.massart")
    beside = key_path(tmp_path / "shop.massart")
    assert sorted(os.listdir(tmp_path)) == ["shop.massart", "shop.massart.key"]
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert bandit.key.hex() in beside.read_text()
    model = (tmp_path / "shop.massart").read_bytes()
    assert bandit.key not in model
    assert bandit.key.hex().encode() not in model
    assert load(tmp_path / "shop.massart").key == bandit.key
    written = beside.stat().st_mtime_ns, beside.stat().st_ino
    save(bandit, tmp_path / "shop.massart")
    assert (beside.stat().st_mtime_ns, beside.stat().st_ino) == written  # nothing to do


@pytest.mark.parametrize("damage", [None, b"", b"{}", b"[1]", b'{"keys": {"x": "zz"}}', b"\xff" * 100, b"[" * 60_000])
def test_without_its_key_choices_from_before_are_refused_and_new_ones_are_not(tmp_path, damage):
    bandit = trained()
    line = bandit.choose(np.eye(ARMS, D)).to_json()
    save(bandit, tmp_path / "m")
    key_path(tmp_path / "m").unlink()
    if damage is not None:
        key_path(tmp_path / "m").write_bytes(damage)
    again = load(tmp_path / "m")
    assert again.key != bandit.key
    with pytest.raises(InvalidDataError, match=r"there is none in .*m\.key"):
        again.learn(Choice.from_json(line), 1.0)
    again.learn(Choice.from_json(again.choose(np.eye(ARMS, D)).to_json()), 1.0)
    assert again.forget_pending() == 1
    assert again.pending == 0
    save(again, tmp_path / "m")
    assert load(tmp_path / "m").key == again.key


def test_a_pipe_or_device_in_the_place_of_the_key_is_no_key(tmp_path):
    """Whoever opened it would wait for ever, or read without end."""
    bandit = trained()
    line = bandit.choose(np.eye(ARMS, D)).to_json()
    save(bandit, tmp_path / "m")
    place = key_path(tmp_path / "m")
    for put in (lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to(path), os.mkfifo):
        place.unlink()
        put(place)
        with pytest.raises(InvalidDataError, match="there is none in"):
            load(tmp_path / "m").learn(Choice.from_json(line), 1.0)
        if put is os.mkfifo:
            with pytest.raises(ModelFileError, match="device or a pipe"):
                save(bandit, tmp_path / "m")
            return
        save(bandit, tmp_path / "m")
        assert stat.S_IMODE(place.lstat().st_mode) == 0o600
        load(tmp_path / "m").learn(Choice.from_json(line), 1.0)


def test_a_bandit_saved_over_another_does_not_take_its_key_before_its_file(tmp_path):
    """Keys are written first: until the model is replaced, the old one's key is there, too."""
    old, new = trained(), trained()
    save(old, tmp_path / "m")
    model = (tmp_path / "m").read_bytes()
    save(new, tmp_path / "m")
    assert load(tmp_path / "m").key == new.key
    (tmp_path / "m").write_bytes(model)  # as if the process had ended in between
    assert load(tmp_path / "m").key == old.key


def test_keys_can_be_shared_and_must_be_keys():
    bandit = trained()
    line = bandit.choose(np.eye(ARMS, D)).to_json()
    other = MonotoneBandit.from_arrays(bandit.arrays())
    with pytest.raises(InvalidDataError, match="digest"):
        other.learn(Choice.from_json(line), 1.0)
    other.sign_with(bandit.key)
    other.learn(Choice.from_json(line), 1.0)
    for key in (b"short", "x" * 32, 7, bytes(33)):
        with pytest.raises(InvalidParameterError, match="32 random bytes"):
            bandit.sign_with(key)


# ------------------------------------------------------------------------------------------------------- compact form


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_features_may_stay_with_the_caller(form):
    bandit, again = trained(), None
    X = form(np.eye(ARMS, D))
    choice = bandit.choose(X, allowed=[True, True, False])
    line = choice.to_json(contexts=False)
    again = Choice.from_json(line, contexts=X)
    assert again.to_json() == choice.to_json()
    with pytest.raises(InvalidDataError, match="leaves its contexts out"):
        Choice.from_json(line)
    with pytest.raises(InvalidDataError, match="not those of this choice"):
        Choice.from_json(line, contexts=form(2 * np.eye(ARMS, D)))
    bandit.learn(again, 1.0)
    with pytest.raises(InvalidDataError, match="learned already"):
        bandit.learn(choice, 1.0)


def test_a_compact_choice_is_small():
    """k arms, two sets of N experts, regression: 8 (4 k N + 6 N + 4 k + 9) + k bytes in base64, and text as below.

    21 characters per probability, and the frame.
    """
    rng, bandit, k, d = np.random.default_rng(0), MonotoneBandit(random_state=0), 10, 50
    for _ in range(20):
        choice = bandit.choose(rng.normal(size=(k, d)))
        bandit.learn(choice, 1.0)
    short, whole = len(choice.to_json(contexts=False)), len(choice.to_json())
    frame = 700
    assert short <= (8 * (4 * k * 4 + 6 * 4 + 4 * k + 9) + k) * 4 / 3 + 23 * k + frame
    assert short < 0.25 * whole


# ------------------------------------------------------------------------------------------------------------ time-out


@every_kind
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_a_choice_that_waits_too_long_teaches_the_default_reward(kind, form, tmp_path):
    """By the same bits as `expire` at that moment; also if the bandit was saved in between."""
    timed, manual = (trained(kind, default_reward=0.25, **more) for more in ({"expire_after": 5}, {}))
    rng, waiting = np.random.default_rng(2), []
    for n in range(40):
        X = form(arms(rng))
        choice = timed.choose(X)
        waiting.append(manual.choose(X))
        assert choice.arm == waiting[-1].arm
        if n >= 5:
            manual.expire(waiting[n - 5])
        assert timed.pending == manual.pending == min(n + 1, 5)
        assert memory(timed) == memory(manual)
        if n == 20:
            timed = saved(timed, tmp_path / "m")
            timed.reseed(0)
        if n == 0:
            first = choice
    with pytest.raises(InvalidDataError, match=r"learned already, or has expired.*39 choices.*expire_after=5"):
        timed.learn(first, 1.0)
    timed.learn(choice, 1.0)


def test_choices_nobody_answers_do_not_pile_up():
    bandit, rng = MonotoneBandit(expire_after=10, random_state=0), np.random.default_rng(0)
    for _ in range(1000):
        bandit.choose(arms(rng))
    assert (bandit.pending, bandit.rounds) == (10, 990)
    assert len(bandit._pending._kept) == 10
    assert bandit.arrays()["pending_blocks"].size == 10 * (2 * (3 + 3 * 4 + 2 * ARMS + 2 * ARMS * 4) + 5 + 2 * ARMS)


@pytest.mark.parametrize("expire_after", [0, -1, 0.5, "5", True, 2**49, np.nan])
def test_a_time_out_is_a_number_of_choices(expire_after):
    with pytest.raises(InvalidParameterError, match="expire_after"):
        MonotoneBandit(expire_after=expire_after)
    with pytest.raises(InvalidParameterError, match="expire_after"):
        MonotoneBandit(expire_after=10**5000)


def test_choices_that_wait_are_saved_compactly(tmp_path):
    """16 bytes each if they do not time out: whoever has the choice has what teaches it."""
    bandit, X = MonotoneBandit(random_state=0), np.eye(ARMS, D)
    save(bandit, tmp_path / "empty")
    for _ in range(1000):
        bandit.choose(X)
    save(bandit, tmp_path / "full")
    assert (tmp_path / "full").stat().st_size - (tmp_path / "empty").stat().st_size < 17_000
    assert load(tmp_path / "full").pending == 1000


def test_a_probability_that_no_policy_gives_is_refused():
    """Also of an arm that was not played: a cap made with it could not be written to a file."""
    bandit = MonotoneBandit(0.1, 0.2, random_state=0)
    choice = bandit.choose(np.eye(3) / 9)
    p = np.full(3, 1e-300)
    p[choice.arm] = 1.0
    with pytest.raises(InvalidDataError, match="never wrote"):
        bandit.learn(resigned(bandit, choice, probabilities=p), 1.0)
