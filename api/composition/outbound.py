"""The outbound side of the composition: what stands between an event and the wire."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.core.destination import Template
from engine.core.records import Event, Outcome
from engine.outbound import OutboundSender
from engine.outbound.ports import Carried, Failure, Rendered, Script, Transformed
from engine.wire.body import outbound_body

if TYPE_CHECKING:
    from api.composition import Server


def outbound_of(server: "Server") -> OutboundSender:
    """Return the sender of all attempts."""
    return OutboundSender(
        server.wire, AsTheyCame(), AsTheyCame(), AsTheyCame(), server.timers, server.clock
    )


class AsTheyCame:
    """The stages that do nothing."""

    def carry(self, event: Event, done: Callable[[Carried | Failure], None]) -> None:
        """Pass the body on."""
        done(Carried(outbound_body(event), ()))

    def run(
        self,
        script: Script,
        body: bytes,
        now_ms: int,
        seed: str,
        done: Callable[[Transformed | Failure], None],
    ) -> None:
        """Pass the body on."""
        done(Transformed(body))

    def render(self, template: Template, body: bytes, event_type: str) -> Rendered | Failure:
        """Pass the body on."""
        return Rendered(body)

    def judge(self, template: Template, outcome: Outcome) -> Outcome:
        """Leave the wire's judgement."""
        return outcome
