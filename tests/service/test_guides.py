"""The blocks of Python in the guides of the client run against a service, each page in one go."""

import os
import re
from pathlib import Path

import processes
import pytest
from service_runs import KEY, massart, served

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guides")
    db = f"sqlite:///{folder / 'guides.db'}"
    with served(db, folder) as found:
        yield found
    done = massart("replay", "--db", db)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("page", "loop", "decisions"), [("client.md", "front-page", 27), ("route-language-models.md", "router", 20)]
)
def test_guide(service, monkeypatch, capsys, page, loop, decisions):
    monkeypatch.setenv("MASSART_KEY", KEY)
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    names = {}
    for block in blocks:
        assert "http" not in block.replace("http://127.0.0.1:8080", "")
        exec(compile(block.replace("http://127.0.0.1:8080", service.url), page, "exec"), names)  # noqa: S102
    names["client"].close()
    assert service.client.get(f"/v1/loops/{loop}/state").json()["decisions"] == decisions
    printed = capsys.readouterr().out
    assert ("404 there is no loop 'nowhere'" in printed) == (page == "client.md")


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "service.md"])
def test_the_first_two_minutes(page, tmp_path):
    blocks = re.findall(r"^```bash\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (script,) = (block for block in blocks if "MASSART_KEY" in block)
    with served(f"sqlite:///{tmp_path / 'first.db'}", tmp_path) as service:
        script = script.replace("localhost:8080", service.url)
        done = processes.run(
            ["bash", "-euc", script], env=os.environ | {"MASSART_KEY": KEY}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert '"event_id":"visit-1"' in done.stdout, done.stdout
        assert service.client.get("/v1/loops/shop/state").json()["decisions"] == 1
