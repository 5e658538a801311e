"""Types of the operator's settings: addresses, networks, keys, names and numbers of workers."""

import os
import re
from ipaddress import IPv4Network, IPv6Network, ip_address
from socket import gethostname
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

LAST_PORT = 65_535
_TEMPLATE = re.compile(r"[a-z][a-z0-9-]{0,31}")
_BEARER = re.compile(r"[A-Za-z0-9._~+/=-]{16,512}")  # RFC 6750 allows these in a header
_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


def is_host(text: str) -> bool:
    """Return whether a text is HOST or HOST:PORT."""
    return _HOST.fullmatch(text) is not None


def _hosts_by_template(value: object) -> object:
    """Return the pairs of a text TEMPLATE=HOST[:PORT],..."""
    if not isinstance(value, str):
        return value
    pairs = [part.strip().partition("=") for part in value.split(",") if part.strip()]
    if not all(_TEMPLATE.fullmatch(name) and is_host(host) for name, _, host in pairs):
        raise ValueError("must be TEMPLATE=HOST or TEMPLATE=HOST:PORT, comma separated")
    return tuple((name, host.lower()) for name, _, host in pairs)


TemplateHosts = Annotated[tuple[tuple[str, str], ...], BeforeValidator(_hosts_by_template)]


def _listed(value: object) -> object:
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",") if part.strip()]


Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], BeforeValidator(_listed)]


def host_and_port(text: str) -> tuple[str, int]:
    """Return the host (IPv6 without brackets) and port of ADDRESS:PORT. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > LAST_PORT:
        raise ValueError("must be ADDRESS:PORT, such as 127.0.0.1:8080 or [::]:8080")
    bare = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    if bare != "localhost":
        ip_address(bare)  # its ValueError says what is wrong
    return bare, int(port)


def _bound(text: str) -> str:
    host_and_port(text)
    return text


Bound = Annotated[str, AfterValidator(_bound)]


def _bearer(text: str) -> str:
    if _BEARER.fullmatch(text) is None:
        raise ValueError(
            "must be 16 to 512 letters, digits and -._~+/=, for instance made by openssl rand -hex 32"
        )
    return text


BearerKey = Annotated[str, AfterValidator(_bearer)]


def with_port_raised(text: str, by: int) -> str:
    """Return ADDRESS:PORT with a port that is higher by `by`. Raises OSError past the last port."""
    host, _, port = text.rpartition(":")
    raised = int(port) + by
    if raised > LAST_PORT:
        raise OSError(
            f"{host} has no port {raised}: each worker needs one. Use a lower port than {text}"
        )
    return f"{host}:{raised}"


def check_peers(bind: str, advertise: str | None, *, tls: bool, own_database: bool) -> None:
    """Check the addresses `peer_bind` and `peer_advertise`. Raise ValueError if other servers cannot
    reach this server there, or if connections between servers would cross a network without TLS."""
    host, port = host_and_port(bind)
    local = host == "localhost" or ip_address(host).is_loopback
    if not own_database:
        raise ValueError("peer_bind needs database_url: an embedded database serves one server")
    if advertise is not None:
        if not (is_host(advertise) and advertise.rpartition(":")[2].isdigit()):
            raise ValueError("peer_advertise must be HOST:PORT")
    elif port == 0 or (not local and ip_address(host).is_unspecified):
        raise ValueError("peer_advertise is needed: other servers cannot reach peer_bind as it is")
    if not (local or tls):
        raise ValueError(
            "peer_bind beyond this machine needs tls_cert: it carries clients' bytes as they came"
        )


MOST_WORKERS = 64  # each has some 20 connections to the database, and memory of its own


def number_of_workers(value: object) -> object:
    """Return a setting's number of workers. For `auto`, return the number of cores that this process can
    use, but at most `MOST_WORKERS`."""
    if value != "auto":
        return value
    usable = getattr(os, "sched_getaffinity", None)  # Linux only: the cores of this container
    cores = len(usable(0)) if usable is not None else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


Parts = Annotated[int, Field(ge=1, le=MOST_WORKERS)]
MachineName = Annotated[str, Field(min_length=1, max_length=253)]  # the longest host name


def machine_of(node_name: str | None) -> str:
    """Return the name of this computer: `node_name` from the settings, or the host name."""
    return node_name or gethostname()


Workers = Annotated[int, BeforeValidator(number_of_workers), Field(ge=1, le=MOST_WORKERS)]
