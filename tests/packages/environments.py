"""Empty environments for tests: an interpreter and what our wheels say that they need, nothing else.

The distributions are those that the tests run with, linked, not copied, so that no registry is asked.
"""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment in a folder of its own."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        """Where its packages are."""
        return next(self.folder.glob("lib/python*/site-packages"))

    def run(self, *arguments: str, cwd: Path) -> str:
        """Run its interpreter, which sees neither our variables nor the working folder."""
        done = subprocess.run(
            [self.python, "-I", *arguments], capture_output=True, text=True, check=False, cwd=cwd
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self, *wheels: Path) -> set[str]:
        """Install wheels as pip does, asking no registry; return the names that came."""
        before = {path.name for path in self.site.iterdir()}
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "--python", str(self.python), "install"),
                *("--no-index", "--quiet", "--disable-pip-version-check", "--no-compile"),
                *map(str, wheels),
            ],
            check=True,
        )
        return {path.name for path in self.site.iterdir()} - before


def built(folder: Path) -> list[Path]:
    """Build the client and the server; return their wheels."""
    for project in (ROOT / "clients/python", ROOT):
        build(project, folder)
    return sorted(folder.glob("*.whl"))


def build(project: Path, folder: Path) -> None:
    """Build the sdist and the wheel of a project into `folder`."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", folder],
        check=True,
        capture_output=True,
        cwd=project,
    )


def empty_environment(folder: Path, wheels: Iterable[Distribution]) -> Environment:
    """Make an environment with what `wheels` need, and what these need in turn."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    environment = Environment(folder)
    for needed in closure(wheels):
        for top in {file.parts[0] for file in needed.files or ()} - {"..", "__pycache__"}:
            link = environment.site / top
            if not link.exists():
                link.symlink_to(Path(str(needed.locate_file(top))))
    return environment


def closure(of: Iterable[Distribution]) -> Iterator[Distribution]:
    """Yield each distribution that these require, directly or not, once."""
    seen: set[str] = set()
    ahead = list(of)
    while ahead:
        for text in ahead.pop().requires or ():
            requirement = Requirement(text)
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
                continue
            if requirement.name not in seen:
                seen.add(requirement.name)
                found = distribution(requirement.name)
                ahead.append(found)
                yield found


def size_bytes(of: Distribution) -> int:
    """Return the bytes of a distribution's files."""
    paths = (Path(str(file.locate())) for file in of.files or ())
    return sum(path.stat().st_size for path in paths if path.is_file())
