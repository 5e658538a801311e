"""A backup or restore that is killed at a step: `python -m tests.backup.killing STEP WHAT ...`."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from storage.backup.making import Backup
from storage.backup.restoring import Restore


def _killing(done: Callable[..., Any], place: str) -> Callable[..., Any]:
    def killed(path: Path, *arguments: object) -> Any:
        if path.name == place:
            os.kill(os.getpid(), signal.SIGKILL)
        return done(path, *arguments)

    return killed


def main(step: str, what: str, *arguments: str) -> None:
    """Run a backup or a restore, and kill this process at `step`.

    `step` has one of two forms. If it ends with a blank, it is a step that the backup or restore reports
    as its progress: the process is killed at this report. Otherwise `step` is the name of a file or of a
    folder: the process is killed before the file is renamed, or before the folder is renamed or removed.
    """

    def progress(now: str, done: int, total: int) -> None:
        if f"{now} " == step:
            os.kill(os.getpid(), signal.SIGKILL)

    Path.rename = _killing(Path.rename, step)  # type: ignore[method-assign]  # the moment is the point
    Path.rmdir = _killing(Path.rmdir, step)  # type: ignore[method-assign]
    first, second = (Path(each) for each in arguments[:2])
    if what == "backup":
        Backup(first, second, progress=progress).make(arguments[2])
    else:
        Restore(first, second, progress=progress, hold=True, unauthenticated=True).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
