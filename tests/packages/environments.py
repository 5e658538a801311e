"""Empty environments for tests: an interpreter and our wheels' requirements, nothing else.

Each requirement is a link to the package in the test run's own environment, so no registry is needed.
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
    """An environment in its own folder."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        return next(self.folder.glob("lib/python*/site-packages"))

    def run(self, *arguments: str, cwd: Path) -> str:
        done = subprocess.run(
            [self.python, "-I", *arguments], capture_output=True, text=True, check=False, cwd=cwd
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self, *wheels: Path) -> set[str]:
        """Install wheels without a registry. Return the names of the new files and folders in `site`."""
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
    for project in (ROOT / "clients/python", ROOT):
        build(project, folder)
    return sorted(folder.glob("*.whl"))


def build(project: Path, folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", folder],
        check=True,
        capture_output=True,
        cwd=project,
    )


def empty_environment(folder: Path, wheels: Iterable[Distribution]) -> Environment:
    """Create an environment with the direct and indirect requirements of `wheels`, without `wheels`."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    environment = Environment(folder)
    for needed in closure(wheels):
        for top in {file.parts[0] for file in needed.files or ()} - {"..", "__pycache__"}:
            link = environment.site / top
            if not link.exists():
                link.symlink_to(Path(str(needed.locate_file(top))))
    return environment


def closure(of: Iterable[Distribution]) -> Iterator[Distribution]:
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
    paths = (Path(str(file.locate())) for file in of.files or ())
    return sum(path.stat().st_size for path in paths if path.is_file())
