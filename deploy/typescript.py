"""The package of the TypeScript client for npm: `python -m deploy.typescript FOLDER`. It needs npm."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.browser.check import WEB

PROJECT = Path(__file__).parents[1] / "clients" / "typescript"
COMPILER = WEB.programs / "tsc"


def compiled(target: Path) -> bool:
    """Compile the client into a folder. Return False if node or the compiler is missing."""
    if shutil.which("node") is None or not WEB.ready():
        return False
    # The programs and their arguments are ours.
    subprocess.run([COMPILER, "-p", PROJECT, "--outDir", target], check=True)  # noqa: S603
    shutil.copy(PROJECT / "package.json", target)
    return True


def pack(folder: Path) -> int:
    """Write the package into a folder. Return the exit code, 0 without npm."""
    npm, made = shutil.which("npm"), PROJECT / "dist"
    shutil.rmtree(made, ignore_errors=True)
    if npm is None or not compiled(made):
        sys.stderr.write("The TypeScript client is left out: it needs npm.\n")
        return 0
    (made / "package.json").unlink()
    packing: list[str | Path] = [
        npm,
        "pack",
        PROJECT,
        "--silent",
        "--pack-destination",
        folder.resolve(),
    ]
    return subprocess.run(packing).returncode  # noqa: S603 - as above


if __name__ == "__main__":
    sys.exit(pack(Path(sys.argv[1])))
