"""The checks of `web/`: types by TypeScript, lint and format by Biome.

npm installs TypeScript and Biome once into `.tools/web`, with the versions of the lock file in
`checkers`. Without npm the checks are skipped, except where CI is set.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.packages.npm import Tools

CHECKERS = Path(__file__).parent / "checkers"
ROOT = CHECKERS.parents[2]
WEB = Tools(CHECKERS, "web", "the checkers of web/")
FOLDERS = ("web/console", "web/portal", "web/shared")
MISSING = "types, lint and format of web/ need npm. On Debian and Ubuntu: apt install npm"


def main(*, mend: bool) -> int:
    """Check the files. If `mend` is true, Biome also formats them and corrects what it can.

    Return the exit code.
    """
    if not WEB.ready():
        print(f"{'Error' if os.environ.get('CI') else 'Left out'}: {MISSING}", file=sys.stderr)
        return 1 if os.environ.get("CI") else 0
    folders = [each for each in FOLDERS if (ROOT / each).is_dir()]
    biome: list[str | Path] = [
        WEB.programs / "biome",
        "check",
        f"--config-path={CHECKERS}",
        "--error-on-warnings",
    ]
    commands: list[list[str | Path]] = [
        [*biome, *(["--write"] if mend else []), *folders],
        [WEB.programs / "tsc", "-p", CHECKERS],
    ]
    return max(subprocess.run(each, cwd=ROOT).returncode for each in commands)


if __name__ == "__main__":
    sys.exit(main(mend="--write" in sys.argv))
