"""Deno and Bun, which npm installs in `.tools/runtimes` from this folder's lock file."""

from collections.abc import Callable
from pathlib import Path

from tests.packages.npm import Tools

HERE = Path(__file__).parent
RUNTIMES = Tools(HERE, "runtimes", "Deno and Bun")
MODULES = RUNTIMES.folder / "node_modules"


def deno(client: Path) -> list[str | Path]:
    """Return the command with which Deno runs a script. Raises StopIteration without Deno.

    The script can reach only the loopback network and the files of the driver and the client.
    """
    # For each system there is a package with Deno's program. npm installs only the package for this
    # system.
    return [
        next(MODULES.glob("@deno/*/deno")),
        "run",
        "--no-prompt",
        "--no-remote",
        "--allow-net=127.0.0.1",
        f"--allow-read={HERE.parent},{client}",
    ]


def bun(client: Path) -> list[str | Path]:
    del client
    return [next(MODULES.glob("@oven/*/bin/bun")), "run"]


COMMANDS: dict[str, Callable[[Path], list[str | Path]]] = {"deno": deno, "bun": bun}
