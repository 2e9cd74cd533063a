"""The dashboard at `/`: one page, one style sheet and plain JavaScript modules, which ask API v1 with the user's key.

The files are public, the figures are not: every request for them needs a key. Nothing is loaded from elsewhere, no
script and no style stands in the page, and the content security policy forbids both. Charts are drawn by the
JavaScript inside the installed package plotly.
"""

import gzip
import hashlib
import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from massart.service.errors import NotFoundError
from massart.service.http import Call, endpoint

__all__ = ["POLICY", "ROUTES"]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_KINDS: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_FOLDER: Final = Path(__file__).parent
_NAMES: Final = frozenset(path.name for path in _FOLDER.iterdir() if path.suffix in _KINDS)
_PLOTLY: Final = "plotly.js"


def _plotly() -> Path | None:
    """Plotly's JavaScript, inside the installed package."""
    found = importlib.util.find_spec("plotly")
    path = Path(found.origin).parent / "package_data" / "plotly.min.js" if found is not None and found.origin else None
    return path if path is not None and path.is_file() else None


@cache
def _file(name: str) -> tuple[bytes, str, str] | None:
    """A file, compressed; its kind and its tag."""
    path = _plotly() if name == _PLOTLY else _FOLDER / name if name in _NAMES else None
    if path is None:
        return None
    data = path.read_bytes()
    if name == "index.html":
        data = data.replace(b"<!-- maps -->", _map_style())
    return gzip.compress(data, 6, mtime=0), _KINDS[path.suffix], f'"{hashlib.sha256(data).hexdigest()[:32]}"'


def _map_style() -> bytes:
    """An element with the id of the style that Plotly writes for maps: as it is there, Plotly does not write it.

    There are no maps here, and the browser would report what the policy forbids.
    """
    path = _plotly()
    found = re.search(rb'getElementById\("([0-9a-f]{64})"\)', path.read_bytes()) if path is not None else None
    return b'<meta name="maps" id="%b">' % found[1] if found else b""


async def _serve(call: Call, name: str) -> Response:
    found = await run_in_threadpool(_file, name)
    if found is None:
        why = (
            'plotly is not installed: pip install "massart[service]"' if name == _PLOTLY else f"there is no {name[:80]}"
        )
        raise NotFoundError(why)
    data, kind, tag = found
    headers = {"content-security-policy": POLICY, "cache-control": "no-cache", "etag": tag, "vary": "accept-encoding"}
    if call.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in call.request.headers.get("accept-encoding", ""):
        return Response(data, headers=headers | {"content-encoding": "gzip"}, media_type=kind)
    return Response(await run_in_threadpool(gzip.decompress, data), headers=headers, media_type=kind)


async def page(call: Call) -> Response:
    """The page."""
    return await _serve(call, "index.html")


async def part(call: Call) -> Response:
    """A script or style of the page."""
    return await _serve(call, call.path("name"))


ROUTES: Final = [
    endpoint("/", "GET", page, None),
    endpoint("/dashboard/{name}", "GET", part, None),
]
