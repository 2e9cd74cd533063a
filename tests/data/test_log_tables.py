"""Logs as tables: columns of any names, those of the Open Bandit Dataset, several files, and what is refused."""

import io
import sys
import types

import numpy as np
import pytest

from massart.data import DecisionLog, LogColumns
from massart.errors import InvalidDataError, InvalidParameterError

COLUMNS = LogColumns(
    "offer", "bought", probability="chance", context=("age", "town"), event_id="id", time="when", weight="times"
)
TABLE = """\
id,offer,bought,chance,age,town,when,times
a,red,1,.5,20,Rome,2026-01-01,1
b,blue,0,.25,30,Oslo,2026-01-02,2
c,green,2.5,.25,,Rome,2026-01-03,1
"""


def written(folder, text, name="log.csv"):
    (folder / name).write_text(text)
    return folder / name


def rows(path, columns=COLUMNS, **options):
    return list(DecisionLog(path, columns=columns, **options).decisions())


def test_columns_are_found_by_their_names(tmp_path):
    found = rows(written(tmp_path, TABLE))
    assert [(one.arm, one.arms, one.reward, one.probability) for one in found] == [
        (2, 3, 1.0, 0.5),  # blue, green, red
        (0, 3, 0.0, 0.25),
        (1, 3, 2.5, 0.25),
    ]
    assert [(one.event_id, one.time, one.weight, one.line) for one in found][1] == ("b", "2026-01-02", 2.0, 3)


def test_every_arm_has_its_name_the_context_and_both_crossed(tmp_path):
    one, other, third = rows(written(tmp_path, TABLE))
    dense = one.contexts.toarray()
    assert [np.count_nonzero(row) for row in dense] == [5, 5, 5]  # name, age, town, name x age, name x town
    assert sorted(dense[0][dense[0] != 0]) == [1.0, 1.0, 1.0, 20.0, 20.0]
    shared = (dense != 0).all(axis=0)
    assert shared.sum() == 2
    assert np.count_nonzero(third.contexts.toarray()[0]) == 3  # no age
    town = shared & (dense[0] == 1.0)
    assert third.contexts.toarray()[0][town] == 1.0
    assert other.contexts.toarray()[0][town] == 0.0


def test_a_feature_has_the_same_column_in_every_log(tmp_path):
    whole = rows(written(tmp_path, TABLE))[0]
    alone = rows(written(tmp_path, "\n".join(TABLE.split("\n")[:2]) + "\n", "one.csv"))[0]
    np.testing.assert_array_equal(alone.contexts.toarray()[0], whole.contexts.toarray()[2])  # red


def test_numbers_are_numbers_only_if_all_of_a_column_are(tmp_path):
    mixed = TABLE.replace("20,Rome", "old,Rome")
    contexts = rows(written(tmp_path, mixed))[1].contexts
    assert set(contexts.data) == {1.0}  # "30" is a name like "old"


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_separators(tmp_path, separator):
    assert len(rows(written(tmp_path, TABLE.replace(",", separator)))) == 3


def test_several_files_are_one_log_with_one_set_of_arms(tmp_path):
    first = written(tmp_path, TABLE)
    second = written(tmp_path, TABLE.partition("\n")[0] + "\nd,yellow,1,.1,20,Rome,2026-01-04,1\n", "more.csv")
    found = rows([first, second])
    assert [one.arms for one in found] == [4] * 4
    assert [one.arm for one in found] == [2, 0, 1, 3]
    other = written(tmp_path, "offer,bought,id,chance,age,town,when,times\n", "other.csv")
    with pytest.raises(InvalidDataError, match=r"other\.csv, line 1, .*not those of the first file"):
        rows([first, other])


def test_standard_input(monkeypatch):
    stream = types.SimpleNamespace(buffer=io.BytesIO(TABLE.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert len(rows("-")) == 3


def test_arms_by_number_and_by_name(tmp_path):
    path = written(tmp_path, "a,r\n10,1\n9,0\n2,1\n")
    whole = LogColumns("a", "r")
    assert [one.arm for one in rows(path, whole, propensities_may_miss=True)] == [2, 1, 0]  # in the order of numbers
    fixed = LogColumns("a", "r", arms=12)
    assert [(one.arm, one.arms) for one in rows(path, fixed, propensities_may_miss=True)][:1] == [(10, 12)]
    listed = LogColumns("a", "r", arms=("9", "10", "2"))
    assert [one.arm for one in rows(path, listed, propensities_may_miss=True)] == [1, 0, 2]
    with pytest.raises(InvalidDataError, match=r"line 2, a: '10' is none of the 10 arms"):
        rows(path, LogColumns("a", "r", arms=10), propensities_may_miss=True)


def test_costs_are_negative_rewards(tmp_path):
    path = written(tmp_path, "a,c,p\n0,3,.5\n1,0,.5\n")
    assert [one.reward for one in rows(path, LogColumns("a", cost="c", probability="p"))] == [-3.0, 0.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("a,red,1,", "a,red,many,"), "line 2, bought: 'many' is not a finite number"),
        (("a,red,1,", "a,red,,"), "line 2, bought: it is missing"),
        (("a,red,1,", "a,,1,"), "line 2, offer: it is missing"),
        (("b,blue,0,.25", "b,blue,0,nan"), "line 3, chance: 'nan' is not a finite number"),
        (("b,blue,0", "b,blue,0,0"), "line 3, line: 9 cells for 8 columns"),
        (("offer", "thing"), "line 1, line: it does not name the columns offer"),
        (("town", "city"), "line 1, line: no column is called 'town'"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_column(tmp_path, change, words):
    with pytest.raises(InvalidDataError) as found:
        rows(written(tmp_path, TABLE.replace(*change)))
    assert f"log.csv, {words}" in str(found.value)


def test_columns_that_cannot_be():
    with pytest.raises(InvalidParameterError, match="exactly one of `reward` and `cost`"):
        LogColumns("a")
    with pytest.raises(InvalidParameterError, match="`context` is a list"):
        LogColumns("a", "r", context="age")
    with pytest.raises(InvalidParameterError, match="arms=0"):
        LogColumns("a", "r", arms=0)


OPEN_BANDIT = """\
,timestamp,item_id,position,click,propensity_score,user_feature_0,user_feature_1,user-item_affinity_0,user-item_affinity_1,user-item_affinity_2
0,2019-11-24 00:00:00+00:00,1,3,1,.3,aa,bb,0.0,2.0,0.0
1,2019-11-24 00:00:01+00:00,0,1,0,.4,cc,bb,1.0,0.0,0.0
"""


def test_the_open_bandit_dataset_is_known_by_its_columns(tmp_path):
    log = DecisionLog(written(tmp_path, OPEN_BANDIT))
    assert log.format == "csv"
    one, other = log.decisions()
    assert (one.arm, one.arms, one.position, one.reward, one.probability) == (1, 3, 3, 1.0, 0.3)
    assert (other.arm, other.position, other.reward, other.probability) == (0, 1, 0.0, 0.4)
    assert one.time == "2019-11-24 00:00:00+00:00"
    # name, two features, the same crossed, and its own affinity
    assert [np.count_nonzero(row) for row in one.contexts.toarray()] == [5, 6, 5]
    assert one.contexts.toarray().max(axis=1).tolist() == [1.0, 2.0, 1.0]
