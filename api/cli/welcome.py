"""What a server says on standard output when it is ready: keys once, the address, what to type next."""

from collections.abc import Sequence

from api.cli.address import server_url
from engine.control.keys import NewKey
from engine.settings import Settings


def welcome(settings: Settings, port: int, first_keys: Sequence[NewKey]) -> str:
    """Return the text for a server that listens on `port`; with its first keys at its first start."""
    host = settings.bind.rpartition(":")[0]
    url = server_url(settings.model_copy(update={"bind": f"{host}:{port}"}))
    lines = []
    if first_keys:
        lines += ["", "First start: a workspace and a key per scope, for DEVELOPMENT.", ""]
        for made in first_keys:
            lines.append(f"  {made.key.scope.name.lower():<7} {made.secret}")
        lines += [
            "",
            "Keep them now: they are shown this once. `angarium keys create` makes more.",
            "",
        ]
    lines += [f"Angarium listens on {url} ({url}/docs)", "Next, in another terminal: angarium demo"]
    return "\n".join(lines)
