"""`massart serve`: decide and reward over HTTP."""

import gc
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from massart.cli._command import reporting
from massart.cli.parameters import Option
from massart.cli.process import Outlet
from massart.errors import InvalidParameterError, needs

if TYPE_CHECKING:
    from massart.service.store import Store

_NAME = "massart serve"
_DB, _HOST, _PORT = "sqlite:///massart.db", "127.0.0.1", 8080
_SETTINGS = {"db": str, "host": str, "port": int, "key_file": str, "access_log": bool, "tls_certificate": str,
             "tls_key": str, "limits": dict, "keep": int}  # fmt: skip


def serve(
    db: Annotated[
        str, Option("--db", metavar="URL", help="Where everything is kept: sqlite:///FILE or postgresql://...")
    ] = _DB,
    host: Annotated[str, Option("--host", help="Address to listen on.")] = _HOST,
    port: Annotated[int, Option("--port", min=0, help="Port to listen on.")] = _PORT,
    key_file: Annotated[
        Path | None,
        Option("--key-file", metavar="FILE", help="A file with the administrator's key.", show_default=False),
    ] = None,
    config: Annotated[
        Path | None,
        Option(
            "--config", metavar="FILE", help="Settings in TOML; options of the command line win.", show_default=False
        ),
    ] = None,
    keep: Annotated[
        int | None,
        Option("--keep", metavar="DAYS", min=1, help="Delete settled events after so many days.", show_default="never"),
    ] = None,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Serve decisions over HTTP: what is acknowledged is on the disk. Ctrl-C stops in good order.

    At the first start a key is made and printed once. A file of settings may have db, host, port, key_file, access_log,
    tls_certificate, tls_key, keep, and a table of limits: body, import, actions, features, batch, rate.

    [bold]Example[/bold]

    massart serve --db sqlite:///shop.db --port 8080
    """
    with reporting(_NAME):
        uvicorn = needs("uvicorn", "service", "to serve")
        for package in ("starlette", "msgspec"):
            needs(package, "service", "to serve")
        from massart.service.app import make_app
        from massart.service.clock import SECOND
        from massart.service.engine import Engine
        from massart.service.keys import SCOPES, Keyring, digest_of, new_key
        from massart.service.ofrep import ROUTES as FLAGS
        from massart.service.personalizer import ROUTES as PERSONALIZER

        given = read_config(config)
        db = given.get("db", db) if db == _DB else db
        host = given.get("host", host) if host == _HOST else host
        port = given.get("port", port) if port == _PORT else port
        if key_file is None and "key_file" in given:
            key_file = Path(given["key_file"])
        listening = listening_at(host, port)
        port = listening.getsockname()[1]
        store = opened(db)
        err = Outlet(sys.stderr, careless=True)
        keep = given.get("keep") if keep is None else keep
        if keep is not None and keep < 1:
            raise InvalidParameterError(f"{config}: keep={keep}: give 1 or more days")
        engine = Engine(store, None if keep is None else keep * 86400 * SECOND)
        settle_in()
        if key_file is not None:
            key = key_file.read_text(encoding="utf-8").strip()
            if len(key) < 16:
                raise InvalidParameterError(f"{key_file} holds a key of {len(key)} characters: give at least 16")
            _add(store, "file", digest_of(key), SCOPES)
        elif not store.keys():
            key = new_key()
            _add(store, "first", digest_of(key), SCOPES)
            Outlet(sys.stdout).say(f"key (printed once, kept as a hash): {key}")
        app = make_app(
            engine,
            Keyring(store.keys()),
            limits=given.get("limits"),
            access_log=given.get("access_log", False),
            extra=[*PERSONALIZER, *FLAGS],
        )
        if not quiet:
            err.say(f"{_NAME}: http://{host}:{port}, {db.partition('@')[2] or db}, {len(engine.loops())} loops")
        options: dict[str, Any] = {"host": host, "port": port, "log_level": "warning", "access_log": False}
        options |= {"server_header": False, "timeout_keep_alive": 30, "timeout_graceful_shutdown": 20}
        options |= {"ssl_certfile": given.get("tls_certificate"), "ssl_keyfile": given.get("tls_key")}
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)  # uvicorn stops in good order, and then sends the signal again
        uvicorn.Server(uvicorn.Config(app, **options)).run(sockets=[listening])


def listening_at(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 is a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise InvalidParameterError(
            f"cannot listen at {host}, port {port} ({error}): give another host or port"
        ) from None


def settle_in() -> None:
    """Once all is loaded: let threads take turns often, and let the collector of cycles leave alone what stays.

    A full collection of all that was imported takes as long as hundreds of requests, which wait for it.
    """
    sys.setswitchinterval(0.0005)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def read_config(path: Path | None) -> dict[str, Any]:
    """The settings in a file; whatever is not one of them is refused."""
    if path is None:
        return {}
    import tomllib

    from massart.service.app import LIMITS

    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidParameterError(f"{path} is not a file of settings in TOML ({error})") from None
    for name, value in found.items():
        if name not in _SETTINGS:
            raise InvalidParameterError(f"{path}: there is no setting {name!r}; there are {', '.join(_SETTINGS)}")
        if type(value) is not _SETTINGS[name]:
            raise InvalidParameterError(f"{path}: {name} must be a {_SETTINGS[name].__name__}")
    for name, value in found.get("limits", {}).items():
        if name not in LIMITS or type(value) is not int or value < 0:
            raise InvalidParameterError(f"{path}: limits.{name}: give whole numbers for some of {', '.join(LIMITS)}")
    return found


def _add(store: "Store", name: str, digest: bytes, scopes: tuple[str, ...]) -> None:
    store.begin()
    store.add_key(name, digest, ",".join(scopes), 0)
    store.commit()


def opened(db: str, *, is_there: bool = False) -> "Store":
    """The store at a URL; a file that does not exist is made, unless it `is_there`."""
    scheme, found, rest = db.partition("://")
    if found and scheme in ("postgresql", "postgres"):
        from massart.service.postgres import PostgresStore

        return PostgresStore(db)
    if found and scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        from massart.service.sqlite import SqliteStore

        if is_there and not Path(rest[1:]).exists():
            raise InvalidParameterError(f"{rest[1:]} does not exist")
        return SqliteStore(rest[1:])
    raise InvalidParameterError(f"--db {db.partition('@')[0]}: give sqlite:///FILE or postgresql://USER@HOST/NAME")
