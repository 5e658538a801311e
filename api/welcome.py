"""The welcome text of a server: the keys at the first start, its address, and the next commands."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

from engine.control.keys import NewKey
from engine.settings import Settings


def server_url(settings: Settings) -> str:
    """Return the server's URL on this machine. The loopback address replaces a wildcard address."""
    host, port = settings.address
    if host != "localhost" and (address := ip_address(host)).is_unspecified:
        host = "127.0.0.1" if address.version == 4 else "::1"
    shown = f"[{host}]" if ":" in host else host
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://{shown}:{port}"


def welcome(
    settings: Settings, port: int, first_keys: Sequence[NewKey], code: str | None = None
) -> str:
    """Return the welcome text. If `port` is 0, another process accepts the connections, and the text has
    no address. `code` is a login code for the console."""
    bind = f"{settings.bind.rpartition(':')[0]}:{port}"
    url = server_url(settings.model_copy(update={"bind": bind}))
    lines = []
    if first_keys:
        lines += ["", "First start: a workspace and a key per scope, for DEVELOPMENT.", ""]
        for made in first_keys:
            lines.append(f"  {made.key.scope.name.lower():<7} {made.secret}")
        lines += [
            "",
            f"Store them now: they are shown only once. Create more with `{_program()} keys create`.",
            "",
        ]
    if port:
        demo = " ".join([_program(), "demo", *_elsewhere(settings, bind)])
        lines += [
            f"Angarium listens on {url} ({url}/docs)",
            f"The console (sign in with a key): {url}/console"
            if code is None
            else f"The console, signed in (once, within 10 minutes): {login_link(url, code)}",
            f"Next, in another terminal: {demo}",
        ]
    return "\n".join(lines)


def login_link(url: str, code: str) -> str:
    """Return the link that signs the user in. The code is in the link's fragment, because browsers do not
    send the fragment to the server, so no log contains it."""
    return f"{url}/console#code={code}"


def _program() -> str:
    called = Path(sys.argv[0])
    found = shutil.which("angarium")
    known = found is not None and Path(found).resolve() == called.resolve()
    return "angarium" if known or called.name != "angarium" else shlex.quote(str(called))


def _elsewhere(settings: Settings, bind: str) -> list[str]:
    """Return the flags with which a command finds this server: none if its settings are the defaults."""
    usual = Settings.model_fields
    flags = []
    if bind != usual["bind"].default:
        flags += ["--bind", shlex.quote(bind)]
    # There is no flag for an external database, because the database's URL contains a password. Commands
    # read this URL from the same environment variable as the server.
    if settings.database_url is None and settings.data_dir != usual["data_dir"].default:
        flags += ["--data-dir", shlex.quote(str(settings.data_dir))]
    return flags
