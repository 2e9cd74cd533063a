"""The list of signatures is that of what Python calls: recorded while every family of kernels is used."""

import sys
from pathlib import Path

import pytest

from massart.cli.kernel_uses import FAMILIES

sys.path.insert(0, str(Path(__file__).parents[2]))

from build_kernels.record import recorded, with_read_only
from build_kernels.signatures import parse, read

USE = "import sys, pathlib; from massart.cli.kernel_uses import run; run(sys.argv[1], pathlib.Path(sys.argv[2]))"


@pytest.mark.parametrize("family", FAMILIES)
def test_what_commands_and_classes_call_is_listed(family, tmp_path):
    used = with_read_only(recorded([sys.executable, "-c", USE, family, str(tmp_path)]))
    assert used
    assert set(used) <= set(read())


def test_what_is_listed_has_read_only_inputs():
    """Every array that its kernel does not write is listed as read-only, so that arrays of both kinds can be given."""
    listed = read()
    assert with_read_only({str(one) for one in listed}) == listed
    (learn,) = {one for one in listed if str(one).startswith("learning.halfspace.learn_csr: ([f64], [u32]")}
    assert str(learn.arguments[1]) == "(i64, [u64], [i8], [f64])"
    assert str(learn.arguments[3]) == "mut [f64]"


def test_a_signature_is_what_its_line_says():
    for one in read():
        assert parse(str(one)) == one
    for line in ("a.b: [f64", "a.b: (f64", "a.b: f16", "a.b: [f64]]"):
        with pytest.raises((ValueError, IndexError)):
            parse(line)
