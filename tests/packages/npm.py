"""Tools that npm installs once from a lock file, into a folder of `.tools`."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = ("package.json", "package-lock.json")


@dataclass(frozen=True)
class Tools:
    """The tools that the lock file in the folder `lock` names."""

    lock: Path
    name: str
    what: str

    @property
    def folder(self) -> Path:
        return ROOT / ".tools" / self.name

    @property
    def programs(self) -> Path:
        return self.folder / "node_modules" / ".bin"

    def installed(self) -> bool:
        done = self.folder / "done"
        return all(
            (done / name).is_file()
            and (done / name).read_bytes() == (self.lock / name).read_bytes()
            for name in FILES
        )

    def install(self, npm: str) -> bool:
        """Return False if npm fails."""
        print(f"Installing {self.what} into {self.folder.relative_to(ROOT)} (once)")
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "done").mkdir(parents=True)
        for name in FILES:
            shutil.copy(self.lock / name, self.folder / name)
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        if subprocess.run([npm, "ci", *quiet], cwd=self.folder).returncode:
            return False
        for name in FILES:
            shutil.copy(self.lock / name, self.folder / "done" / name)
        return True

    def ready(self) -> bool:
        """Install the tools if necessary and possible. Return True if they are installed."""
        npm = shutil.which("npm")
        return self.installed() or (npm is not None and self.install(npm))
