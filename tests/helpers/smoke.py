"""Install a wheel into empty environments, one for each Python that there is, and use it: `python smoke.py WHEEL`.

In the environment of the Python that runs this, all of README's examples run, those of the service in one more that has
its extra; in the others a classifier and a bandit. An environment holds the wheel and what it depends on, and nothing
else. What is missing is named.
"""

import doctest
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
QUICK = """
import sys
import numpy as np
from massart import MassartClassifier, MonotoneBandit
X = np.random.default_rng(0).normal(size=(2_000, 5))
clf = MassartClassifier(random_state=0).partial_fit(X, X[:, 0] > 0, classes=[False, True])
assert clf.score(X, X[:, 0] > 0) > 0.9
bandit = MonotoneBandit(random_state=0)
bandit.learn(bandit.choose(["a", "b"], {"age": 1.0}), 1.0)
assert "numba" not in sys.modules
"""


def main(wheel: Path) -> int:
    """The number of environments in which something is wrong."""
    failed = 0
    for version in (*VERSIONS, "service"):
        python = sys.executable if version in (HERE, "service") else interpreter(version)
        if python is None:
            print(f"Python {version}: there is no interpreter")
            continue
        environment = ROOT / "build" / "smoke" / version
        shutil.rmtree(environment, ignore_errors=True)
        run([python, "-m", "venv", "--without-pip", str(environment)])
        inside = str(environment / "bin" / "python")
        pip = [sys.executable, "-m", "pip", "--python", inside, "install", "--quiet", "--only-binary", ":all:"]
        installed = run([*pip, f"{wheel}[service]" if version == "service" else str(wheel)])
        if installed.returncode:
            failed += version in (HERE, "service")
            print(f"Python {version}: the dependencies cannot be installed\n{installed.stderr[-1000:]}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            mine = {HERE: "--readme", "service": "--service"}.get(version)
            program = [str(Path(__file__).resolve()), mine] if mine else ["-c", QUICK]
            done = run([inside, *program], cwd=folder)
        failed += done.returncode != 0
        what = {HERE: "README's examples", "service": "README's service"}.get(version, "a classifier and a bandit")
        print(f"Python {HERE if version == 'service' else version}: {what}: {'failed' if done.returncode else 'well'}")
        if done.returncode:
            print(done.stdout[-3000:], done.stderr[-3000:])
    return failed


def interpreter(version: str) -> str | None:
    """A Python of this version that starts: on the path, or of pyenv."""
    found = [shutil.which(f"python{version}"), *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    for python in map(str, filter(None, found)):
        if run([python, "-c", "import venv"]).returncode == 0:
            return python
    return None


def readme() -> int:
    """In an empty environment: README's doctests, then its commands, with the wheel's `massart` first on the path."""
    import massart

    if not Path(massart.__file__).is_relative_to(sys.prefix):
        print(f"massart comes from {massart.__file__}, not from the wheel")
        return 1
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=flags).failed
    for code in blocks():
        if "MASSART_KEY" in code:
            continue
        lines = [line for line in code.splitlines() if not line.startswith("pip install")]
        done = run(["bash", "-euc", "\n".join(lines)])
        print(done.stdout, done.stderr)
        failed += done.returncode != 0
    return failed


def blocks() -> list[str]:
    """README's blocks of a shell."""
    return re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


def service() -> int:
    """In an environment with the extra: `massart serve`, with the key that it prints, and README's requests to it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (code,) = (code for code in blocks() if "MASSART_KEY" in code)
    with open("said", "w") as said:
        command = [str(Path(sys.executable).parent / "massart"), "serve", "--port", str(port)]
        served = subprocess.Popen(command, stdout=said, stderr=said)  # noqa: TID251
    try:
        ready = f"until curl -sf localhost:{port}/ready > /dev/null; do sleep .1; done"
        key = "MASSART_KEY=$(grep -o 'msk_[^ ]*' said)"
        done = run(["bash", "-euc", f"{ready}\n{key}\n{code.replace('localhost:8080', f'localhost:{port}')}"])
        print(done.stdout, done.stderr, Path("said").read_text(encoding="utf-8"))
        return int(done.returncode != 0 or '"decisions":1' not in done.stdout)
    finally:
        served.terminate()
        served.wait(timeout=60)


def run(command: list[str], cwd: str | None = None) -> subprocess.CompletedProcess[str]:
    """A command, with its own Python first on the path and nothing from elsewhere to import."""
    left = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    left["PATH"] = os.pathsep.join(
        [str(Path(command[0]).parent if command[0] != "bash" else Path(sys.executable).parent), os.environ["PATH"]]
    )
    return subprocess.run(command, cwd=cwd, env=left, capture_output=True, text=True, timeout=600)  # noqa: PLW1510, TID251


if __name__ == "__main__":
    program = {"--readme": readme, "--service": service}.get(sys.argv[1])
    sys.exit(program() if program else main(Path(sys.argv[1]).resolve()))
