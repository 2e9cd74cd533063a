"""What can be wrong with a line of text: the codes that the parsing kernels write, the first error of a line only.

`massart.data.row_errors` turns them into sentences.
"""

from typing import Final

(
    NUL,  # a NUL byte: the file is binary or UTF-16
    LABEL,  # no number where the label should be
    CLASS,  # a label that is not one of two
    INDEX,  # svmlight: no "index:value" with a whole number before the colon
    INDEX_ZERO,  # svmlight counts from 1
    INDEX_NEGATIVE,
    INDEX_LARGE,  # above the number of columns there may be
    VALUE,  # no number where the value should be
    NOT_FINITE,  # NaN or infinity
    TOO_LARGE,  # finite, but above LARGEST in size
    NO_BAR,  # VW: no "|"
    HEAD,  # VW: more than label, importance and base before the first "|"
    WEIGHT,  # an importance that is no number, negative, or out of range
    SCALE,  # VW: a namespace's scale that is no number
    NO_VALUE,  # VW: nothing after ":"
    LONG,  # a line longer than LONGEST_LINE
    FIELDS,  # CSV: more or fewer fields than columns
    QUOTE,  # CSV: a quote that is not closed, or text after a closing quote
    NUMBER,  # CSV: text in a column of numbers
) = range(1, 20)

LARGEST: Final = 1e100  # size of a value: squares and sums of them stay finite
LONGEST_LINE: Final = 1 << 24  # bytes
