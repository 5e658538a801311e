"""The files of the folder `web`, as the door serves them: the pages of console and portal, and their
assets.

The address of an asset contains a digest of all files. After a change of any file, all assets have new
addresses. Browsers can therefore cache an asset for ever. Nothing here awaits.
"""

import gzip
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from api.answers import no_such_path, not_allowed
from api.call import Answer
from engine.model.read_models import Models

FOLDER = Path(__file__).parents[1] / "web"
CONSOLE = b"/console"
ASSETS = b"/console/assets/"
SESSIONS = b"/console/sessions"  # a route of the API
KEPT = "public, max-age=31536000, immutable"  # a year: the address changes with the content
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_IMAGES = "'self' data:"
_GZIP_LEVEL = 9  # at the start, some 50 ms for all files

Fields = Sequence[tuple[bytes, bytes]]


def policy(images: str, ancestors: str) -> str:
    """Return the Content-Security-Policy of a page that loads only its own files and this API.

    `default-src 'none'` forbids every kind of source that the policy does not name. It has no effect on
    `frame-ancestors`, `base-uri` and `form-action`. The policy therefore names these three.
    """
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; connect-src 'self'; "
        f"base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


POLICY = policy(_IMAGES, "'none'")


class _WebFile(Struct, frozen=True):
    content_type: str
    body: bytes
    zipped: bytes
    tag: str  # its ETag


class WebFiles:
    """The files of one folder."""

    def __init__(self, folder: Path = FOLDER) -> None:
        found = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.suffix in _TYPES and path.is_file()
        }
        digest = hashlib.sha256()
        for name, body in found.items():
            digest.update(b"%b\0%d\0%b" % (name.encode(), len(body), body))
        self.digest = digest.hexdigest()[:16]
        self._folder = folder
        self._assets = {
            f"{self.digest}/{name}".encode(): _file(_TYPES[Path(name).suffix], body)
            for name, body in found.items()
        }
        page = self.page("console/index.html", ASSETS)
        self._page = None if page is None else _file("text/html; charset=utf-8", page)

    def page(self, name: str, assets: bytes) -> bytes | None:
        """Return the page `name`, with links to its assets below the path `assets`. Return None if there
        is no such page."""
        path = self._folder / name
        if not path.is_file():
            return None
        return path.read_text().replace("{assets}", f"{assets.decode()}{self.digest}").encode()

    def asset(self, name: bytes, fields: Fields) -> Answer | None:
        """Return the answer with the asset `name` (`digest/name`), or None if there is no such asset."""
        asset = self._assets.get(name)
        return None if asset is None else _sent(asset, fields, KEPT)

    def sent(self, name: str, fields: Fields, caching: str) -> Answer:
        """Return a file whose address has no digest."""
        return _sent(self._assets[f"{self.digest}/{name}".encode()], fields, caching)

    def answer(self, method: str, path: bytes, fields: Fields, request_id: str) -> Answer | None:
        """Return the answer to a request for the console, None for another request.

        `path` is percent-encoded, as received. `/` redirects clients that accept HTML to the console.
        """
        page = self._page
        if page is None:
            return None
        if path == b"/":
            return _to_console() if method in ("GET", "HEAD") and _takes_html(fields) else None
        if path != CONSOLE and not path.startswith(CONSOLE + b"/"):
            return None
        if path == SESSIONS:
            return None
        if method not in ("GET", "HEAD"):
            return not_allowed(method, ("GET", "HEAD"), request_id)
        if not path.startswith(ASSETS):
            return _sent(page, fields, "no-cache")
        return self.asset(path.removeprefix(ASSETS), fields) or no_such_path(request_id)


@cache
def web_files() -> WebFiles:
    """Return the files of the installed program, read at the first call."""
    return WebFiles()


def _file(content_type: str, body: bytes) -> _WebFile:
    zipped = gzip.compress(body, _GZIP_LEVEL, mtime=0)
    return _WebFile(content_type, body, zipped, f'"{hashlib.sha256(body).hexdigest()[:16]}"')


def _sent(file: _WebFile, fields: Fields, caching: str) -> Answer:
    headers = [
        ("Cache-Control", caching),
        ("ETag", file.tag),
        ("Vary", "Accept-Encoding"),
        ("Content-Security-Policy", POLICY),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Referrer-Policy", "no-referrer"),
    ]
    if any(name == b"if-none-match" and file.tag.encode() in value for name, value in fields):
        return Answer(304, body=b"", headers=tuple(headers))
    if any(name == b"accept-encoding" and b"gzip" in value for name, value in fields):
        headers.append(("Content-Encoding", "gzip"))
        return Answer(200, body=file.zipped, content_type=file.content_type, headers=tuple(headers))
    return Answer(200, body=file.body, content_type=file.content_type, headers=tuple(headers))


def _takes_html(fields: Fields) -> bool:
    return any(name == b"accept" and b"text/html" in value for name, value in fields)


def _to_console() -> Answer:
    return Answer(
        302,
        body=b"",
        content_type="text/plain",
        headers=(("Location", CONSOLE.decode()), ("Vary", "Accept")),
    )


PORTAL = b"/portal/"
PORTAL_ASSETS = b"/portal/assets/"  # for a proxy that publishes the portal only
EMBED = b"/portal/embed.js"
EMBED_CACHED = "public, max-age=300"  # the address has no version
# Logos are images of the customer's own hosts.
IMAGES = "'self' data: https:"


class Portal:
    """The answers to requests for the portal."""

    def __init__(self, files: WebFiles, models: Models) -> None:
        self._files, self._models = files, models
        self._page = files.page("portal/index.html", PORTAL_ASSETS)

    def answer(self, method: str, path: bytes, fields: Fields, request_id: str) -> Answer | None:
        """Return the answer to a request for the portal, None for another request.

        The page for an unknown workspace is the same as for a known workspace, so that a client cannot
        find out which workspaces exist.
        """
        if self._page is None or not path.startswith(PORTAL):
            return None
        if method not in ("GET", "HEAD"):
            return not_allowed(method, ("GET", "HEAD"), request_id)
        if path == EMBED:
            return self._files.sent("portal/embed.js", fields, EMBED_CACHED)
        if path.startswith(PORTAL_ASSETS):
            return self._files.asset(path.removeprefix(PORTAL_ASSETS), fields) or no_such_path(
                request_id
            )
        workspace = path.removeprefix(PORTAL).partition(b"/")[0].decode("latin-1")
        if not workspace:
            return no_such_path(request_id)
        origins = self._models.settings_of(workspace).origins
        # `no-store`, because a cached page would keep the old origins after a change.
        headers = (
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", policy(IMAGES, " ".join(["'self'", *origins]))),
            ("Referrer-Policy", "no-referrer"),
        )
        return Answer(
            200, body=self._page, content_type="text/html; charset=utf-8", headers=headers
        )
