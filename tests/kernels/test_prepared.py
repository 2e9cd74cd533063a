"""Kernels whose arguments are taken apart once."""

import gc

import numpy as np
import pytest

from massart.kernels.compiling import prepare
from massart.kernels.learning.calibration import calibrate
from massart.learners.calibration import ScoreCalibration


def test_a_prepared_call_is_a_call():
    state, scores, found, again = ScoreCalibration()._state(), np.array([0.5, -2.0]), np.empty(2), np.empty(2)
    call = prepare(calibrate, scores, state, found)
    for first in (0.5, 3.0):
        scores[0] = first  # it reads what is in the array when it is called
        call()
        calibrate(scores, state, again)
        assert found.tolist() == again.tolist()


def test_it_keeps_its_arrays():
    found = np.empty(1000)
    call = prepare(calibrate, np.linspace(-3.0, 3.0, 1000), ScoreCalibration()._state(), found)
    call()
    before = found.copy()
    gc.collect()
    others = [np.full(1000, float(n)) for n in range(100)]  # they would lie where arrays that are gone lay
    call()
    assert found.tolist() == before.tolist()
    assert len(others) == 100


@pytest.mark.wheel
def test_what_does_not_fit_is_refused_at_once():
    state, scores, found = ScoreCalibration()._state(), np.zeros(2), np.empty(2)
    read_only = found.view()
    read_only.flags.writeable = False
    for arguments, words in (
        ((scores, state), "takes 3 arguments, not 2"),
        ((scores, state, read_only), "not compiled for arrays of the kinds"),
        ((scores[::2].astype(np.float32), state, found), "not compiled for arrays of the kinds"),
        ((scores, list(state), found), "a tuple is needed"),
    ):
        with pytest.raises(SystemError, match=words):
            prepare(calibrate, *arguments)
    with pytest.raises(SystemError, match="there is no kernel len"):
        prepare(len, scores)
