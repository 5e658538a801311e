"""Destinations and their rules, as a server writes them."""

from contextlib import suppress
from typing import TYPE_CHECKING

from engine.control.audit import Principal
from engine.control.destinations import DestinationCommands, Disabled
from engine.control.rules import RuleCommands
from engine.model.errors import Refusal
from engine.ports import StoreAwayError

if TYPE_CHECKING:
    from api.composition import Server

SWEPT = 1_000  # archived destinations of one start; the next start sweeps further ones


def routing_of(server: "Server", disabled: Disabled) -> tuple[DestinationCommands, RuleCommands]:
    """Return the commands on destinations and on rules."""
    tables, writer = server.tables, server.writer
    rules = RuleCommands(tables.rules, tables.destinations, writer, server.plans, server.quotas)
    destinations = DestinationCommands(
        tables.destinations,
        writer,
        server.plans,
        server.quotas,
        server.catalog,
        rules,
        disabled=disabled,
    )
    server.background.spawn(_sweep, server, rules)
    return destinations, rules


async def _sweep(server: "Server", rules: RuleCommands) -> None:
    """Remove the rules that archived destinations still have: a server was killed before it did."""
    with suppress(StoreAwayError, Refusal):
        for number, destination in await server.tables.rules.left_behind(SWEPT):
            environment = server.models.environments.get(number)
            if environment is not None:
                actor = Principal(
                    kind="SYSTEM",
                    id="archived-destination",
                    workspace=environment.workspace,
                    environment=number,
                )
                await rules.remove_all_of(actor, number, destination)
