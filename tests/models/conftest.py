"""A model file to read, to damage and to replace."""

import pytest
from model_cases import ARRAYS, META

from massart.models.model_file import write_model


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "m.massart"
    write_model(path, "demo", META, ARRAYS)
    return path


@pytest.fixture
def small(path):
    write_model(path, "demo", META, {"w": ARRAYS["w"]})
    return path
