"""The outbound side of the composition: what stands between an event and the wire."""

from typing import TYPE_CHECKING

from engine.outbound import OutboundSender

if TYPE_CHECKING:
    from api.composition import Server


def outbound_of(server: "Server") -> OutboundSender:
    """Return the sender of all attempts."""
    return OutboundSender(
        server.wire,
        server.carrying.carrier,
        server.transforms,
        server.templates,
        server.timers,
        server.clock,
        server.script_limit,
    )
