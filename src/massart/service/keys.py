"""Keys: made here once, kept as hashes, compared in constant time; each has scopes."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Final, NamedTuple

from massart.service.errors import NotAllowedError, UnauthorizedError

__all__ = ["SCOPES", "KeyHolder", "Keyring", "digest_of", "new_key"]

SCOPES: Final = ("decide", "reward", "read", "admin")


class KeyHolder(NamedTuple):
    """Whom a key belongs to, and what it allows."""

    name: str
    scopes: frozenset[str]


def new_key() -> str:
    """A key of 256 random bits."""
    return f"msk_{secrets.token_urlsafe(32)}"


def digest_of(key: str) -> bytes:
    """What is kept of a key. It is random and long, so one hash is enough: nobody can try them all."""
    return hashlib.sha256(b"massart key " + key.encode(errors="surrogatepass")).digest()


class Keyring:
    """The keys that are known.

    >>> ring = Keyring([("ann", digest_of("secret"), "decide,read")])
    >>> ring.check("secret", "read").name
    'ann'
    >>> ring.check("secret", "admin")
    Traceback (most recent call last):
    massart.service.errors.NotAllowedError: the key 'ann' has not the scope admin, only decide, read
    """

    def __init__(self, rows: Iterable[tuple[str, bytes, str]]) -> None:
        self._rows = list(rows)
        self._known = [(digest, KeyHolder(name, frozenset(scopes.split(",")))) for name, digest, scopes in self._rows]

    def of(self, rows: list[tuple[str, bytes, str]]) -> "Keyring":
        """The keyring of these rows: this one, if they are its own."""
        return self if rows == self._rows else Keyring(rows)

    def holder(self, key: str) -> KeyHolder:
        """Whose key this is; every known key is compared, so that the time does not tell which."""
        given, found = digest_of(key), None
        for digest, holder in self._known:
            if hmac.compare_digest(digest, given):
                found = holder
        if found is None:
            raise UnauthorizedError("the key is not known: send the header Authorization: Bearer KEY with one that is")
        return found

    def check(self, key: str | None, scope: str) -> KeyHolder:
        """The holder of a key that has this scope."""
        if not key:
            raise UnauthorizedError("a key is needed: send the header Authorization: Bearer KEY")
        holder = self.holder(key)
        if scope not in holder.scopes:
            own = ", ".join(sorted(holder.scopes)) or "none"
            raise NotAllowedError(f"the key {holder.name!r} has not the scope {scope}, only {own}")
        return holder
