"""The code of the guides, block after block, against a service."""

import re
from pathlib import Path

import pytest
import service_runs
from openfeature import api

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("page", "loops"), [
    ("from-personalizer.md", {"personalizer": 3}),
    ("openfeature.md", {"checkout-button": 1, "new-search": 1}),
])  # fmt: skip
def test_the_code_of_a_guide(page, loops, tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    with service_runs.served(f"sqlite:///{tmp_path / 'massart.db'}", tmp_path) as service:
        monkeypatch.setenv("MASSART_KEY", service_runs.KEY)
        names = {}
        for block in blocks:
            assert ">>>" not in block
            exec(block.replace("http://localhost:8080", service.url), names)  # noqa: S102
        api.shutdown()
        for one in ("client", "service"):
            if hasattr(names.get(one), "close"):
                names[one].close()
        for name, count in loops.items():
            assert service.client.get(f"/v1/loops/{name}/state").json()["decisions"] == count
    assert "eventId" in capsys.readouterr().out or page != "openfeature.md"
