"""Files for deployment: as far as they can be checked where neither Docker nor systemd runs."""

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path

import processes
import pytest
import yaml

from massart.cli.main import command_named
from massart.cli.parameters import understood

DEPLOY = Path(__file__).parents[2] / "deploy"
VERIFY = shutil.which("systemd-analyze")


def options(words):
    """What `massart serve` understands of these words."""
    found = understood(command_named("serve"), words)
    assert found is not None, words
    return found


def instructions():
    """The Dockerfile as (instruction, words), lines that go on joined."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Dockerfile").read_text())
    lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, words.strip()) for name, words in lines]


def test_dockerfile():
    found = instructions()
    start = max(place for place, (name, _) in enumerate(found) if name == "FROM")
    last = dict(found[start:])
    assert last["USER"] == "10001:10001"
    assert last["STOPSIGNAL"] == "SIGTERM"
    assert "/ready" in last["HEALTHCHECK"]
    assert not [words for name, words in found if name == "ADD"]
    assert "gcc" not in "".join(words for _, words in found[start:])
    words = json.loads(last["ENTRYPOINT"]) + json.loads(last["CMD"])
    assert words[:2] == ["massart", "serve"]
    given = options(words[2:])
    assert (given["host"], given["port"]) == ("0.0.0.0", 8080)  # noqa: S104  inside of the container
    folder = last["VOLUME"]
    assert given["db"] == f"sqlite:///{folder}/massart.db"
    copied = [word for name, words in found[:start] if name == "COPY" for word in words.split()[:-1]]
    kept = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")}
    assert set(copied) == kept
    assert all((DEPLOY.parent / name).exists() for name in copied)


def test_compose():
    found = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    ports = [found["services"][name]["ports"] for name in ("one", "two")]
    assert all(port.startswith("127.0.0.1:") for several in ports for port in several)
    for name in ("one", "two"):
        service = found["services"][name]
        given = options(service["command"])
        assert given["db"].startswith("postgresql://massart@db/")
        assert str(given["key_file"]) == "/run/secrets/massart_key"
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["depends_on"]["db"]["condition"] == "service_healthy"
        assert (
            DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]
        ).resolve() == DEPLOY / "Dockerfile"
    assert "POSTGRES_PASSWORD:?" in found["services"]["db"]["environment"]["POSTGRES_PASSWORD"]
    assert set(found["secrets"]) == {"massart_key"}
    assert set(found["volumes"]) == {"database"}


class _Twice(dict):
    """A setting may stand in a unit several times: the values are joined."""

    def __setitem__(self, name, value):
        if name in self and isinstance(value, list):
            value = [*self[name], *value]
        super().__setitem__(name, value)


def unit():
    parser = configparser.RawConfigParser(dict_type=_Twice, strict=False, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str
    parser.read(DEPLOY / "massart.service")
    return parser


def test_unit():
    service = unit()["Service"]
    program, command, *words = service["ExecStart"].split()
    assert (program, command) == ("/opt/massart/bin/massart", "serve")
    given = options(words)
    assert given["host"] == "127.0.0.1"
    assert given["db"] == f"sqlite:////var/lib/{service['StateDirectory']}/massart.db"
    assert given["key_file"].name == service["LoadCredential"].partition(":")[0]
    assert service["DynamicUser"] == "yes"
    assert service["ProtectSystem"] == "strict"


@pytest.mark.skipif(VERIFY is None, reason="no systemd here: apt-get install systemd, and run again")
def test_systemd_takes_the_unit(tmp_path):
    """With a program that is there instead of ours."""
    text = (DEPLOY / "massart.service").read_text().replace("/opt/massart/bin/massart", shutil.which("true"))
    (tmp_path / "massart.service").write_text(text)
    command = [VERIFY, "verify", str(tmp_path / "massart.service")]
    done = processes.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert (done.returncode, done.stdout) == (0, "")
