"""Deno and Bun, which npm installs into `.tools/runtimes` by the lock in this folder."""

from collections.abc import Callable
from pathlib import Path

from tests.packages.npm import Tools

HERE = Path(__file__).parent
RUNTIMES = Tools(HERE, "runtimes", "Deno and Bun")
MODULES = RUNTIMES.folder / "node_modules"


def deno(client: Path) -> list[str | Path]:
    """Return the command that runs a script with the client in a folder. Deno refuses what is not
    allowed: the client needs the network alone. Raises StopIteration where this system has no Deno."""
    # The program is in a package of its own for each system; npm installs the one of this machine.
    return [
        next(MODULES.glob("@deno/*/deno")),
        "run",
        "--no-prompt",
        "--no-remote",
        "--allow-net=127.0.0.1",
        f"--allow-read={HERE.parent},{client}",
    ]


def bun(client: Path) -> list[str | Path]:
    """Return Bun's command, as Deno's."""
    del client
    return [next(MODULES.glob("@oven/*/bin/bun")), "run"]


COMMANDS: dict[str, Callable[[Path], list[str | Path]]] = {"deno": deno, "bun": bun}
