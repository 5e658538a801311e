"""Fakes of the stages that an event passes before it is sent. A test controls these stages."""

from collections.abc import Callable

from engine.core.destination import Destination, Template
from engine.core.records import Event, Outcome
from engine.outbound.ports import Carried, Failure, Headers, Rendered, Script, Transformed
from engine.wire.body import outbound_body

Made = Transformed | Failure


class Unchanged:
    """Stages that change nothing."""

    def carry(self, event: Event, done: Callable[[Carried | Failure], None]) -> None:
        done(Carried(outbound_body(event), ()))

    def run(
        self, script: Script, body: bytes, now_ms: int, seed: str, done: Callable[[Made], None]
    ) -> None:
        done(Transformed(body))

    async def perform(self, script: Script, body: bytes, now_ms: int, seed: str) -> Made:
        return Transformed(body)

    async def check(self, workspace: str, source: str, customer: str | None = None) -> str | None:
        return None

    def prepare(self, destination: Destination, done: Callable[[Headers | Failure], None]) -> None:
        done(())

    def refused(self, destination: Destination, headers: Headers) -> bool:
        return False

    def render(
        self, template: Template, body: bytes, event_type: str, event_id: str | None = None
    ) -> Rendered | Failure:
        return Rendered(body)

    def judge(self, template: Template, outcome: Outcome) -> Outcome:
        return outcome
