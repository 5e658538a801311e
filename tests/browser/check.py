"""The checks of `web/`: types by TypeScript, lint and format by Biome.

Both are native programs that npm installs once into `.tools/web`, by the lock in `checkers`. After that
nothing here needs the network. Without npm the checks are left out, except where CI is set.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

CHECKERS = Path(__file__).parent / "checkers"
ROOT = CHECKERS.parents[2]
TOOLS = ROOT / ".tools" / "web"
PACKAGES = ("package.json", "package-lock.json")
FOLDERS = ("web/console", "web/portal", "web/shared")
MISSING = "types, lint and format of web/ need npm. On Debian and Ubuntu: apt install npm"


def installed() -> bool:
    """Return True if the tools of the lock are there."""
    return all(
        (TOOLS / "done" / name).is_file()
        and (TOOLS / "done" / name).read_bytes() == (CHECKERS / name).read_bytes()
        for name in PACKAGES
    )


def install(npm: str) -> bool:
    """Install the tools. Returns False where npm could not."""
    print(f"Installing the checkers of web/ into {TOOLS.relative_to(ROOT)} (once)")
    shutil.rmtree(TOOLS, ignore_errors=True)
    (TOOLS / "done").mkdir(parents=True)
    for name in PACKAGES:
        shutil.copy(CHECKERS / name, TOOLS / name)
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    if subprocess.run([npm, "ci", *quiet], cwd=TOOLS).returncode:
        return False
    for name in PACKAGES:
        shutil.copy(CHECKERS / name, TOOLS / "done" / name)
    return True


def main(*, mend: bool) -> int:
    """Check, or format where `mend`. Returns the exit code."""
    npm = shutil.which("npm")
    if not installed() and not (npm and install(npm)):
        print(f"{'Error' if os.environ.get('CI') else 'Left out'}: {MISSING}", file=sys.stderr)
        return 1 if os.environ.get("CI") else 0
    programs = TOOLS / "node_modules" / ".bin"
    folders = [each for each in FOLDERS if (ROOT / each).is_dir()]
    biome: list[str | Path] = [
        programs / "biome",
        "check",
        f"--config-path={CHECKERS}",
        "--error-on-warnings",
    ]
    commands: list[list[str | Path]] = [
        [*biome, *(["--write"] if mend else []), *folders],
        [programs / "tsc", "-p", CHECKERS],
    ]
    return max(subprocess.run(each, cwd=ROOT).returncode for each in commands)


if __name__ == "__main__":
    sys.exit(main(mend="--write" in sys.argv))
