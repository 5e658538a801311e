"""The checks of this computer and of the settings. A check leaves no files."""

import errno
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

import httpx

from api.cli.doctor.finding import Finding, failure, ok, warning
from api.cli.remote.session import common_options
from api.door.listener import see_that_free
from api.welcome import server_url
from engine.files.ports import BlobsAwayError
from engine.plans.file import PlansFileError, plans_of
from engine.settings import PREFIX, Settings
from engine.templates.catalog import catalog_of
from engine.templates.reading import TemplateFileError
from engine.transforms import seal, worker
from engine.wire.tls import AuthoritiesError, client_context
from storage.backup.making import read_last
from storage.files.blobs import FileStoreError, open_blobs, try_store

DESCRIPTORS_FEW = 4_096  # 45 % for clients and as many for receivers: 1,800 connections each
DESCRIPTORS_GOOD = 65_536
DISK_FEW = 2 * 1024**3  # embedded: 1 GB of write-ahead log, and a few million events
BUILT_AT = 1_790_000_000  # September 2026: a correct clock shows a later time
LIVEZ_S = 2.0
BACKUP_OLD_DAYS = 7  # a daily backup job has failed for a week

# Variables with our prefix that tests and development tools read. No setting of the server and no option
# of a command uses them.
OTHER_VARIABLES = frozenset(
    {
        PREFIX + "SCREENSHOTS",  # the folder for screenshots of the browser tests
        PREFIX + "BENCH_BASE",  # `bench run against`: the tree to compare with
        PREFIX + "ADVISORIES_URL",  # `make audit`: a mirror of the advisories
    }
)


def check_variables(variables: Mapping[str, str]) -> Finding:
    """Find variables that nothing reads, mostly typing errors."""
    known = {PREFIX + name.upper() for name in Settings.model_fields} | OTHER_VARIABLES
    known |= {str(option.envvar) for option in common_options() if option.envvar}
    stray = sorted(name for name in variables if name.startswith(PREFIX) and name not in known)
    if stray:
        return warning(
            "variables",
            f"nothing reads {', '.join(stray)}",
            "`angarium serve --help` lists the settings, docs/cli.md the variables of commands",
        )
    return ok("variables", f"every {PREFIX} variable is a known one")


def check_port(settings: Settings) -> Finding:
    """Check that the server's address is free, or used by a running Angarium."""
    host, port = settings.address
    try:
        see_that_free(host, port)
    except OSError as error:
        return _taken(settings, error)
    reach = _reach(host)
    return ok("port", f"{settings.bind} is free{reach}")


def _reach(host: str) -> str:
    if host != "localhost" and not ip_address(host).is_loopback:
        return "; other machines can reach it: use TLS here or in front"
    return ""


def _taken(settings: Settings, error: OSError) -> Finding:
    if error.errno == errno.EADDRINUSE:
        if _is_angarium(server_url(settings)):
            return ok("port", f"{settings.bind} is in use by a running Angarium")
        return failure(
            "port",
            f"{settings.bind} is in use by another program",
            f"stop it (find it with ss -ltnp), or choose another address: {PREFIX}BIND=127.0.0.1:8081",
        )
    if error.errno == errno.EACCES:
        return failure(
            "port", f"{settings.bind}: ports below 1024 need root", "choose a higher port"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return failure(
            "port",
            f"{settings.bind}: no interface of this machine has that address",
            "use 127.0.0.1, 0.0.0.0 or an address that `ip addr` shows",
        )
    return failure("port", f"{settings.bind}: {error.strerror}", "choose another address")


def _is_angarium(url: str) -> bool:
    try:
        with httpx.Client(timeout=LIVEZ_S, trust_env=False, verify=False) as client:  # noqa: S501 - asks which program listens, sends no secret
            answer = client.get(url + "/livez")
    except httpx.HTTPError:
        return False
    return answer.is_success and "x-request-id" in answer.headers


def check_data_dir(settings: Settings) -> list[Finding]:
    """Check that the data folder can be written and has room."""
    folder = settings.data_dir.absolute()
    # The user of this process is perhaps not allowed to enter the parent folder. Then `os.path.exists`
    # returns False, but `Path.exists` would raise an error.
    if os.path.exists(folder) and not folder.is_dir():
        return [failure("data folder", f"{folder} is not a folder", f"set {PREFIX}DATA_DIR")]
    place = next(parent for parent in (folder, *folder.parents) if os.path.exists(parent))
    fault = _write_fault(place)
    if fault:
        return [
            failure(
                "data folder",
                f"{place} cannot be written: {fault}",
                f"give it to this account (chown), or set {PREFIX}DATA_DIR",
            )
        ]
    findings = [ok("data folder", f"{folder} can be {'written' if folder.exists() else 'created'}")]
    free = shutil.disk_usage(place).free
    if free < DISK_FEW:
        findings.append(
            warning(
                "disk",
                f"{free // 1024**2} MiB free at {place}",
                "an embedded database accepts no events when the disk is full: make room",
            )
        )
    return findings


def check_backup(settings: Settings, now: float | None = None) -> Finding:
    """Check that `angarium backup` has made a backup of the embedded database in the last
    `BACKUP_OLD_DAYS` days."""
    if settings.database_url is not None:
        return ok(
            "backup", "the database is a PostgreSQL of your own: back it up with its own tools"
        )
    last = read_last(settings.data_dir)
    how = "make one with `angarium backup TARGET`, while the server runs"
    if last is None:
        if os.path.exists(settings.data_dir / "postgres"):
            return warning("backup", "none was made by `angarium backup`", how)
        return ok("backup", "nothing to back up yet")
    then = datetime.strptime(last.ended_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    age_days = ((time.time() if now is None else now) - then.timestamp()) / 86_400
    if age_days > BACKUP_OLD_DAYS:
        return warning("backup", f"the last one is {age_days:.0f} days old ({last.target})", how)
    return ok("backup", f"the last one was made at {last.ended_at} ({last.target})")


def _write_fault(folder: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def check_descriptors() -> Finding:
    """Check how many connections the limit of open files allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= DESCRIPTORS_FEW:
        return ok("open files", "no limit" if soft == resource.RLIM_INFINITY else f"up to {soft}")
    better = DESCRIPTORS_GOOD if hard == resource.RLIM_INFINITY else min(DESCRIPTORS_GOOD, hard)
    return warning(
        "open files",
        f"the limit is {soft}: some {int(soft * 0.45)} clients and as many receivers at once",
        f"ulimit -n {better} before the start, or LimitNOFILE={better} in its unit",
    )


def check_clock(now: float | None = None) -> Finding:
    """Check that the clock does not show a time before `BUILT_AT`. Every signature contains the time, and
    receivers refuse a time that is wrong by more than 5 minutes."""
    now = time.time() if now is None else now
    if now < BUILT_AT:
        return failure(
            "clock",
            f"it shows {time.strftime('%Y-%m-%d', time.gmtime(now))}, which is in the past",
            "set it, and synchronise it with NTP: receivers refuse signatures with a wrong time",
        )
    return ok("clock", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now)))


def check_locale() -> Finding:
    """Check that names and payloads in UTF-8 can be printed."""
    encodings = {sys.getfilesystemencoding() or "", sys.stdout.encoding or ""}
    if {name.lower().replace("-", "") for name in encodings} <= {"utf8"}:
        return ok("locale", "UTF-8")
    named = os.environ.get("LC_ALL") or os.environ.get("LANG") or "none set"
    return warning("locale", f"not UTF-8 ({named})", "export LC_ALL=C.UTF-8")


def check_workers() -> Finding:
    """Check that processes for scripts start, and that the system confines them.

    The check starts one process for scripts. The exit code of this process says which system calls it can
    make.
    """
    try:
        done = subprocess.run(  # noqa: S603 - our own file, by our own interpreter
            [sys.executable, "-I", "-S", "-B", worker.__file__],
            check=False,
            capture_output=True,
            env={},
            timeout=LIVEZ_S * 5,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"no process for scripts can be started: {error}"
        return warning("scripts", message, "allow this account to start processes")
    if not 0 <= done.returncode <= seal.NO_NEW_PRIVILEGES | seal.FILTERED:
        cause = done.stdout.decode("utf-8", "replace") or f"exit code {done.returncode}"
        return warning(
            "scripts",
            f"their processes do not start, so scripts cannot run: {cause}",
            "run the server as its own account, not as root; a container whose server is root needs"
            " CAP_SETUID and CAP_SETGID, and a user map that includes 65533",
        )
    if done.returncode & seal.FILTERED:
        return ok(
            "scripts", "their processes cannot gain privileges, and can make only few system calls"
        )
    return warning(
        "scripts",
        "their processes can make all system calls: a vulnerability of the script engine would "
        "expose this machine",
        "run untrusted scripts on Linux, x86_64 or aarch64, where the kernel and the container's"
        " filter allow prctl(PR_SET_SECCOMP)",
    )


def check_plans(settings: Settings) -> Finding:
    """Check that a server can read the plans."""
    try:
        plans = plans_of(settings)
    except PlansFileError as error:
        return failure("plans", str(error), f"correct the file, or see {PREFIX}PLANS_FILE")
    return ok("plans", ", ".join(plans))


def check_templates(settings: Settings) -> Finding:
    """Check that the templates can be read, and that every template named in ANGARIUM_TEMPLATE_HOSTS
    exists."""
    try:
        catalog = catalog_of(settings)
    except TemplateFileError as error:
        remedy = f"correct it, or see {PREFIX}TEMPLATES_DIR and {PREFIX}TEMPLATE_HOSTS"
        return failure("templates", str(error), remedy)
    return ok("templates", f"{len(catalog.all())} can be used")


def check_authorities(settings: Settings) -> Finding:
    """Check that the certificate authorities for receivers can be read."""
    try:
        client_context(settings.egress_ca)
    except AuthoritiesError as error:
        return failure("authorities", str(error), f"see {PREFIX}EGRESS_CA")
    also = "" if settings.egress_ca is None else f", and those in {settings.egress_ca}"
    return ok("authorities", f"receivers' certificates are checked with the system's{also}")


def check_file_store(settings: Settings) -> Finding:
    """Check the file store: write a few bytes and remove them."""
    if settings.file_store is None:
        return ok("file store", "in the data folder")
    try:
        open_blobs(settings.file_store, settings.data_dir)
        try_store(settings.file_store)
    except FileStoreError as error:
        return failure("file store", str(error), f"see {PREFIX}FILE_STORE")
    except BlobsAwayError as error:
        return failure("file store", str(error), f"see the endpoint in {PREFIX}FILE_STORE")
    return ok("file store", "it stores and removes objects")
