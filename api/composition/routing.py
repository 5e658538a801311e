"""Destinations and their rules, as a server writes them."""

from contextlib import suppress

from api.composition.foundation import Foundation
from engine.control.audit import Principal
from engine.control.customers import QuotaCheck
from engine.control.destinations import DestinationCommands
from engine.control.rules import RuleCommands
from engine.control.writer import ConfigurationWriter
from engine.model.errors import Refusal
from engine.ports import StoreAwayError

SWEPT = 1_000  # archived destinations of one start; the next start sweeps further ones


def routing_of(
    base: Foundation, writer: ConfigurationWriter, quotas: QuotaCheck
) -> tuple[DestinationCommands, RuleCommands]:
    """Return the commands on destinations and on rules."""
    tables = base.tables
    rules = RuleCommands(tables.rules, tables.destinations, writer, base.plans, quotas)
    destinations = DestinationCommands(
        tables.destinations,
        writer,
        base.plans,
        quotas,
        base.catalog,
        rules,
        disabled=base.announcer.disabled,
        objection=base.wire.host_check.objection,
    )
    base.background.spawn(_sweep, base, rules)
    return destinations, rules


async def _sweep(base: Foundation, rules: RuleCommands) -> None:
    """Remove the rules that archived destinations still have: a server was killed before it did."""
    with suppress(StoreAwayError, Refusal):
        for number, destination in await base.tables.rules.left_behind(SWEPT):
            environment = base.models.environments.get(number)
            if environment is not None:
                actor = Principal(
                    kind="SYSTEM",
                    id="archived-destination",
                    workspace=environment.workspace,
                    environment=number,
                )
                await rules.remove_all_of(actor, number, destination)
