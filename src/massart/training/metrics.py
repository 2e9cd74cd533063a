"""Numbers about a training under way, for monitoring: in a file that is replaced, or at a port of this machine."""

import contextlib
import json
import os
import re
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from massart.errors import InvalidParameterError
from massart.files import check_place, partial_path, remove
from massart.training.run import Training

__all__ = ["Metrics"]

_EVERY: Final = 1.0  # seconds between two states of the file
_HOST: Final = "127.0.0.1"
_ABOUT: Final = {
    "rows": ("counter", "Rows learned in the first pass."),
    "mistakes": ("counter", "Of these, predicted wrongly before they were learned."),
    "error": ("gauge", "Mistakes per row."),
    "row_errors": ("counter", "Rows left out because they could not be read."),
    "unlabelled": ("counter", "Rows without a label."),
    "lag": ("gauge", "Records of a partition that are not yet learned."),
}


class Metrics:
    """Inside of `with`, a file has the numbers of a training, or `http://127.0.0.1:PORT/metrics` gives them.

    A file whose name ends with .json, and the path /metrics.json, are JSON; the others are the text of Prometheus.
    """

    def __init__(self, place: str, training: Training) -> None:
        self._training = training
        self._left = threading.Event()
        self._thread: threading.Thread | None = None
        self._server: Any = None
        self._path: Path | None = None
        if not place.startswith(":"):
            self._path = Path(place)
            check_place(self._path, "the metrics", devices=False)
            return
        if not re.fullmatch(r":[0-9]{1,5}", place) or int(place[1:]) > 65535:
            raise InvalidParameterError(f"metrics {place}: give the name of a file, or a port as :9100")
        self._server = self._listening(int(place[1:]))

    @property
    def port(self) -> int | None:
        """Where numbers are asked for."""
        return None if self._server is None else int(self._server.server_address[1])

    def __enter__(self) -> Self:
        target = self._rewrite if self._server is None else self._server.serve_forever
        self._thread = threading.Thread(target=target, name="metrics", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        if self._thread is not None:
            self._thread.join()
        if self._path is not None:
            self._write()

    def values(self) -> dict[str, Any]:
        """The numbers; lag by partition."""
        progress, training = self._training.progress, self._training
        lags = [source.lag(progress.position) for source in training.reader.sources if hasattr(source, "lag")]
        return {
            "rows": progress.learned,
            "mistakes": progress.mistakes,
            "error": progress.mistakes / max(1, progress.learned),
            "row_errors": sum(list(progress.row_errors.values())),
            "unlabelled": progress.unlabelled,
            "lag": {str(number): lag for own in lags for number, lag in own.items()},
        }

    def text(self, *, as_json: bool) -> str:
        """The numbers, written."""
        values = self.values()
        if as_json:
            return json.dumps(values) + "\n"
        lines = []
        for name, (kind, words) in _ABOUT.items():
            full = f"massart_{name}{'_total' if kind == 'counter' else ''}"
            lines += [f"# HELP {full} {words}", f"# TYPE {full} {kind}"]
            value = values[name]
            if isinstance(value, dict):
                lines += [f'{full}{{partition="{partition}"}} {number}' for partition, number in value.items()]
            else:
                lines.append(f"{full} {value}")
        return "\n".join(lines) + "\n"

    def _rewrite(self) -> None:
        while True:
            self._write()
            if self._left.wait(_EVERY):
                return

    def _write(self) -> None:
        """Replace the file; it need not survive the machine, so that nothing waits for the disk."""
        assert self._path is not None  # noqa: S101  for the type checker
        partial = partial_path(self._path)
        with contextlib.suppress(OSError):  # a full disk is no reason to stop
            try:
                partial.write_text(self.text(as_json=self._path.suffix == ".json"), encoding="utf-8")
                os.replace(partial, self._path)
            except OSError:
                remove(partial)
                raise

    def _listening(self, port: int) -> Any:
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer  # noqa: PLC0415  few trainings need it

        text = self.text

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                as_json = self.path == "/metrics.json"
                if not (as_json or self.path == "/metrics"):
                    self.send_error(404)
                    return
                found = text(as_json=as_json).encode()
                self.send_response(200)
                kind = "application/json" if as_json else "text/plain; version=0.0.4; charset=utf-8"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(found)))
                self.end_headers()
                self.wfile.write(found)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name of the class above
                """Say nothing."""

        try:
            return ThreadingHTTPServer((_HOST, port), Handler)
        except OSError as error:
            raise InvalidParameterError(f"metrics: port {port} cannot be had ({error.strerror or error})") from None
