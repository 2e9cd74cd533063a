"""The recipe for Spark of docs/scale.md, in a process of its own: `make test-spark` installs pyspark and runs it."""

import json
import os
import re
import sys
from pathlib import Path

import processes
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
PROGRAM = """
import json, numpy as np, pandas as pd
from pyspark.sql import SparkSession
from massart import MassartClassifier

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 3))
y = (X[:, 0] > X[:, 1]) ^ (rng.random(6000) < 0.1)
table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y)
df = spark.createDataFrame(table).repartition(4)
columns = ["a", "b", "c"]
{recipe}
truth = X[:, 0] > X[:, 1]
print(json.dumps([clf.rounds_, clf.score(table[columns], truth)]))
spark.stop()
"""


@pytest.mark.spark
def test_the_recipe_for_spark():
    recipe = re.search(r"```python\n(# on Spark\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = processes.run(
        [sys.executable, "-c", PROGRAM.format(recipe=recipe)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    rounds, score = json.loads(done.stdout.splitlines()[-1])
    assert rounds >= 6000
    assert score > 0.97
