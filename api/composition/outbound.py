"""The outbound side of the composition: what stands between an event and the wire."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.core.records import Event
from engine.outbound import OutboundSender
from engine.outbound.ports import Carried, Failure
from engine.wire.body import outbound_body

if TYPE_CHECKING:
    from api.composition import Server


def outbound_of(server: "Server") -> OutboundSender:
    """Return the sender of all attempts."""
    return OutboundSender(
        server.wire, AsTheyCame(), server.transforms, server.templates, server.timers, server.clock
    )


class AsTheyCame:
    """The stages that do nothing."""

    def carry(self, event: Event, done: Callable[[Carried | Failure], None]) -> None:
        """Pass the body on."""
        done(Carried(outbound_body(event), ()))
