"""`python -m deploy.typescript FOLDER`: the TypeScript client as a package for npm. It needs npm."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.browser import check

PROJECT = Path(__file__).parents[1] / "clients" / "typescript"


def pack(folder: Path) -> int:
    """Write the package into a folder. Returns the exit code; without npm the package is left out."""
    npm = shutil.which("npm")
    if npm is None or not (check.installed() or check.install(npm)):
        sys.stderr.write("The TypeScript client is left out: it needs npm.\n")
        return 0
    shutil.rmtree(PROJECT / "dist", ignore_errors=True)
    compiler = check.TOOLS / "node_modules" / ".bin" / "tsc"
    target = folder.resolve()
    commands: list[list[str | Path]] = [
        [compiler, "-p", PROJECT],
        [npm, "pack", PROJECT, "--silent", "--pack-destination", target],
    ]
    for command in commands:
        # The commands are those above, and nothing of them comes from outside.
        if code := subprocess.run(command).returncode:  # noqa: S603
            return code
    return 0


if __name__ == "__main__":
    sys.exit(pack(Path(sys.argv[1])))
