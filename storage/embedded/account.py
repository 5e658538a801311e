"""The account of the embedded PostgreSQL: Angarium's own, or an unprivileged one if root starts Angarium.

PostgreSQL refuses to run as root.
"""

import os
import pwd
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

log = structlog.get_logger("angarium.storage")

NAME = "angarium"  # made if root starts the server and there is no such account
FALLBACK = "nobody"  # where accounts cannot be made (a read-only /etc)
# The only environment variables that PostgreSQL's programs get. Other variables can hold the master key
# and the credentials of the file store. An intruder in the database can read the variables of
# PostgreSQL.
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TZDIR", "TMPDIR", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class Account:
    """The account of PostgreSQL's processes. `switches`: Angarium runs as root, and must start PostgreSQL
    under this other account."""

    uid: int
    gid: int
    switches: bool

    def arguments(self) -> dict[str, Any]:
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        own: dict[str, Any] = {"umask": 0o077, "env": passed_on}
        if self.switches:
            own |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return own

    def own(self, path: Path) -> None:
        """Make the account the owner of a file, or of a folder and everything in it."""
        if not self.switches:
            return
        for folder, _, files in os.walk(path):
            os.lchown(folder, self.uid, self.gid)
            for name in files:
                os.lchown(os.path.join(folder, name), self.uid, self.gid)

    def let_through(self, path: Path) -> None:
        """Let the account pass through every folder above `path`.

        A folder that is closed to the account (usually /root) gets the permission to pass through, but
        not to list.
        """
        if not self.switches:
            return
        # `path` can be a link, because some installers install packages as links. The account must pass
        # through the folders above the link, and through the folders above the link's target.
        for folder in dict.fromkeys((*path.absolute().parents, *path.resolve().parents)):
            mode = folder.stat()
            if mode.st_uid == self.uid:
                needed = stat.S_IXUSR
            elif mode.st_gid == self.gid:
                needed = stat.S_IXGRP
            else:
                needed = stat.S_IXOTH
            if not mode.st_mode & needed:
                folder.chmod(stat.S_IMODE(mode.st_mode) | needed)
                log.warning("embedded.folder_opened", folder=str(folder), permission="pass through")


def account_for(data: Path) -> Account:
    """Return the account for a PostgreSQL server on `data`. Without root, it is the account of this
    process. With root, it is the owner of `data`, or an unprivileged account if root owns `data`."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switches=False)
    if data.exists() and (owner := data.stat()).st_uid != 0:
        return Account(owner.st_uid, owner.st_gid, switches=True)
    entry = _found(NAME) or _made() or _found(FALLBACK)
    if entry is None:
        raise OSError(f"started by root: PostgreSQL needs an account, so please make one: {NAME}")
    return Account(entry.pw_uid, entry.pw_gid, switches=True)


def _found(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _made() -> pwd.struct_passwd | None:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is None:
        return None
    command = [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", NAME]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    # Look for the account even if `useradd` failed: another process can have made the account.
    entry = _found(NAME)
    if entry is None:
        log.warning("embedded.account_not_made", name=NAME, error=done.stderr.strip())
    return entry
