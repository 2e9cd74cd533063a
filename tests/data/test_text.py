"""svmlight and VW text beside what the kernels read: the names of rows."""

from massart.data.formats.text import parse_block
from massart.data.schema import Schema


def test_tags_of_vw_text_are_those_of_their_rows():
    """Blocks without any tag are read a shorter way than those with some."""
    schema = Schema(format="vw", bits=18)
    assert parse_block(b"1 |a x\n-1 |a y\n", schema).tags == ("", "")
    assert parse_block("1 'né |a x\nbad line\n-1 |a y\n1 last|a z\n".encode(), schema).tags == ("né", "", "last")
    assert parse_block(b"1 '\xff\xc3|a x\n-1 |a y\n", schema).tags == ("\ufffd\ufffd", "")
    assert parse_block(b"1 'x |a\n", Schema(format="svmlight"), labelled=False).tags is None
