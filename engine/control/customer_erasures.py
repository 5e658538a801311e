"""The erasure of all that a customer has: destinations are archived, then events lose their contents.

A request is one row and one audit entry. A background job does the rest in steps. After a restart it goes
on, and passes over what was erased before.
"""

from collections.abc import Sequence

import structlog
import trio
from msgspec import structs

from engine.control.audit import Principal
from engine.control.commands import written
from engine.control.destinations import DestinationCommands
from engine.control.erasure import ErasureCommands, ErasureStore
from engine.control.ports import DestinationPages, Erasing, ErasureRows
from engine.control.writer import ConfigurationWriter
from engine.core.vocabulary import DestinationStatus
from engine.model.errors import Refusal
from engine.model.read_models import Models
from engine.ports import StoreAwayError
from engine.runtime.wake import Wake

AT_ONCE = 50  # events in one statement: some 10 ms
REST = 1.0  # times as long as a step took: half of a connection's time at the most
AGAIN_S = 2.0  # after a delivery in flight, or a database that is away, kept a step back
LOOK_S = 60.0  # between two looks for requests that another process has taken
ARCHIVED = 100  # destinations that are read at a time
_OPEN = (DestinationStatus.ACTIVE, DestinationStatus.DISABLED)

log = structlog.get_logger("angarium.control")


class CustomerErasures:
    """Takes requests and works them off. Owner of nothing: what is to be done is in the store."""

    def __init__(
        self,
        rows: ErasureRows,
        contents: ErasureStore,
        erasure: ErasureCommands,
        destinations: DestinationCommands,
        pages: DestinationPages,
        models: Models,
        writer: ConfigurationWriter,
    ) -> None:
        self._rows = rows
        self._contents = contents
        self._erasure = erasure
        self._destinations = destinations
        self._pages = pages
        self._models = models
        self._writer = writer
        self._wake = Wake()

    async def request(self, actor: Principal, environment: int, customer: str) -> None:
        """Have everything of a customer erased that was accepted before. Raises Refusal 404."""
        account = await self._rows.account(environment, customer)
        if account is None:
            raise Refusal("not_found", "no such customer")
        changes = {"contents": {"from": "PRESENT", "to": "ERASED"}}
        entry = self._writer.entry(actor, "customer.erase", account, changes)
        request = Erasing(
            environment, account, customer, self._writer.new_id(), "", self._writer.now_ms()
        )
        await self._writer.commands.run_beside(lambda: written(self._rows.request(request, entry)))
        self._wake.set()

    async def run(self) -> None:
        """Work off requests until cancelled."""
        while True:
            pause_s = LOOK_S
            try:
                for request in await self._rows.unfinished():
                    if not await self._work_off(request):
                        pause_s = AGAIN_S
            except StoreAwayError:
                pause_s = AGAIN_S
            except Exception:  # a barrier: the next look begins from the store
                log.exception("customer.erasure_broke")
            with trio.move_on_after(pause_s):
                await self._wake.wait()

    async def _work_off(self, request: Erasing) -> bool:
        """Do all of a request; return False if something is in flight that must end before."""
        environment = self._models.environments.get(request.environment)
        if environment is None:
            return True
        actor = Principal(
            kind="SYSTEM",
            id="customer-erasure",
            workspace=environment.workspace,
            environment=request.environment,
        )
        await self._archive(actor, request)
        while True:
            began = trio.current_time()
            found = await self._rows.events(request)
            count = found.erased
            for first in range(0, len(found.ids), AT_ONCE):
                some = found.ids[first : first + AT_ONCE]
                done, whole = await self._erase(actor, request.environment, some)
                count += done
                if not whole:
                    return False  # the next look finds what is erased by now
            at_ms = self._writer.now_ms() if found.end else None
            await self._rows.erased(request, found.through, count, at_ms)
            if found.end:
                log.info("customer.erased", account=request.account, customer=request.customer)
                return True
            request = structs.replace(request, cursor=found.through)
            await trio.sleep(REST * (trio.current_time() - began))

    async def _archive(self, actor: Principal, request: Erasing) -> None:
        while True:
            page = await self._pages.page(
                request.environment, _OPEN, request.account, None, ARCHIVED
            )
            for each in page:
                await self._destinations.archive(actor, request.environment, each.id)
            if len(page) < ARCHIVED:
                return

    async def _erase(
        self, actor: Principal, environment: int, events: Sequence[str]
    ) -> tuple[int, bool]:
        """Erase events, those with deliveries that wait or are dead one by one. Return how many were
        erased, and whether all were."""
        erased = await self._contents.erase_many(environment, events, self._writer.now_ms())
        done = len(erased)
        for event in set(events).difference(erased):
            try:
                await self._erasure.erase(actor, environment, event)
            except Refusal as refusal:
                if refusal.code != "not_found":  # retention hides it, and removes it anyway
                    return done, False
            else:
                done += 1
        return done, True
