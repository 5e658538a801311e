"""The check of a new destination's host."""

import math
import socket
import threading

import trio

from engine.wire.egress import EgressGuard, forbidden
from engine.wire.host_check import LOOKUP_S, HostCheck
from engine.wire.resolver import Addresses, Lookup, Resolver, system_lookup

ZONE = {
    "inside.test": ("10.0.0.5", "fd00::1"),
    "both.test": ("10.0.0.5", "93.184.216.34"),
    "public.test": ("93.184.216.34",),
}


def looked_up(host: str) -> Addresses:
    if host == "unknown.test":
        raise socket.gaierror(socket.EAI_NONAME, "no such name")
    if host not in ZONE:
        return system_lookup(host)
    return tuple((socket.AF_INET, address) for address in ZONE[host])


def check(lookup: Lookup = looked_up) -> HostCheck:
    return HostCheck(EgressGuard(), Resolver(lookup))


async def test_a_host_with_only_forbidden_addresses_is_objected_to() -> None:
    judge = check()
    for host in ("10.0.0.5", "169.254.169.254", "::1", "inside.test", "2130706433"):
        words = await judge.objection(host, "w")
        assert words == forbidden(host)
        assert host in words
        assert "ANGARIUM_EGRESS_ALLOW" in words


async def test_a_host_with_one_public_address_is_accepted() -> None:
    judge = check()
    for host in ("both.test", "public.test", "93.184.216.34"):
        assert await judge.objection(host, "w") is None


async def test_a_name_that_does_not_resolve_is_accepted() -> None:
    assert await check().objection("unknown.test", "w") is None


async def test_a_name_server_that_hangs_delays_the_check_by_its_bound(
    autojump_clock: trio.testing.MockClock,
) -> None:
    answer = threading.Event()

    def hangs(_: str) -> Addresses:
        answer.wait()
        return ((socket.AF_INET, "10.0.0.5"),)

    resolver = Resolver(hangs)
    try:
        began = trio.current_time()
        assert await HostCheck(EgressGuard(), resolver).objection("hangs.test", "w") is None
        assert math.isclose(trio.current_time() - began, LOOKUP_S)
    finally:
        answer.set()
