"""The results of a race: a table for the terminal, one HTML page, a figure, or the rows in a file.

All of it is made from the rows alone, so rows that were written yesterday give the same report today. Races in worlds
with labels and in worlds with rewards have the same functions. Tables, pages and JSON need nothing else; Matplotlib and
PyArrow come with `pip install "massart[report]"`.

>>> from massart import arena
>>> rows = arena.sweep(["kink"], ["massart", "perceptron"], rounds=2000, seeds=2)
>>> page = arena.report.html(rows)
>>> "massart race kink --learner massart --learner perceptron --rounds 2000 --seeds 2" in page
True
"""

from massart.arena.report.charts import figure
from massart.arena.report.page import html
from massart.arena.report.summary import summarise
from massart.arena.report.table import table
from massart.arena.rows import read_rows, write_rows
from massart.errors import MissingPackageError

__all__ = ["MissingPackageError", "figure", "html", "read_rows", "summarise", "table", "write_rows"]
