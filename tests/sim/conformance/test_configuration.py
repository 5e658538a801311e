"""Writes of destinations, accounts and rules, on both databases."""

from typing import Any

import pytest

from engine.core.vocabulary import DestinationStatus, Priority
from engine.model.configuration import FilterErrors, FilterFailure
from engine.model.identity import created_at_ms
from engine.model.read_models import RuleModel
from engine.ports import PoisonError
from tests.sim.conformance.house import House
from tests.storage.world import ENVIRONMENT, identity

ALL = list(DestinationStatus)


def rule_of(destination: str, **fields: Any) -> RuleModel:
    identifier = identity.other()
    given: dict[str, Any] = {
        "id": identifier,
        "environment": ENVIRONMENT,
        "destination": destination,
        "name": "r",
        "event_types": ("order.*", "a.b"),
        "priority": Priority.HIGH,
        "enabled": True,
        "created_at_ms": created_at_ms(identifier),
        "updated_at_ms": 5,
    }
    return RuleModel(**{**given, **fields})


async def test_destinations_have_versions_and_room(house: House) -> None:
    store = house.ports.destinations
    account = await store.open_account(ENVIRONMENT, "c-1", identity.other())
    assert await store.open_account(ENVIRONMENT, "c-1", identity.other()) == account
    assert await store.account_name(ENVIRONMENT, account) == "c-1"
    assert await store.account_name(ENVIRONMENT, identity.other()) is None
    tied = house.record(identity.other(), customer="c-1", customer_account=account)
    assert not await store.create(tied, 2, house.audit())
    assert await store.create(tied, 3, house.audit())
    assert await store.get(ENVIRONMENT, tied.id) == tied
    assert await store.find(tied.id) == tied
    assert await store.get(ENVIRONMENT - 1, tied.id) is None
    with pytest.raises(PoisonError):
        await store.create(tied, 9, house.audit())
    unwritable = house.record(identity.other(), name="nul\0")
    with pytest.raises(PoisonError):
        await store.create(unwritable, 9, house.audit())
    assert not await store.create(house.record(identity.other(), environment=99), 9, house.audit())
    page = await store.page(ENVIRONMENT, ALL, None, None, 2)
    assert [record.id for record in page] == [tied.id, house.b]
    assert [record.id for record in await store.page(ENVIRONMENT, ALL, account, None, 9)] == [
        tied.id
    ]
    assert [record.id for record in await store.page(ENVIRONMENT, ALL, None, house.b, 9)] == [
        house.a
    ]
    assert not await store.replace(tied, house.audit())  # this version exists already
    disabled = await house.switch(house.a, DestinationStatus.DISABLED)
    assert disabled.version == 2
    archived = await house.switch(house.a, DestinationStatus.ARCHIVED)
    assert await house.table("backlog") != []  # a start continues the discarding
    assert await store.page(ENVIRONMENT, [DestinationStatus.ARCHIVED], None, None, 9) == [archived]
    # The archived destination has left its room.
    assert await store.create(house.record(identity.other()), 3, house.audit())
    assert len(await house.table("versions")) == 6
    entry = house.audit()
    assert await store.create(house.record(identity.other()), 9, entry)
    before = await house.side.dump()
    with pytest.raises(PoisonError):
        await store.create(house.record(identity.other()), 9, entry)
    assert await house.side.dump() == before


async def test_rules_are_held_to_their_environments_tally(house: House) -> None:
    store = house.ports.rules
    nothing = await store.filtered(ENVIRONMENT, None, 9)
    assert nothing == await store.filtered(ENVIRONMENT + 1, None, 9)
    first = rule_of(house.a, filter="true")
    assert await store.create(first, 1, house.audit(), tally=0)
    assert not await store.create(rule_of(house.a), 1, house.audit())
    filtered = await store.filtered(ENVIRONMENT, None, 9)
    assert (filtered.rules, filtered.tally) == (1, 1)
    assert filtered.patterns == {first.id: first.event_types}
    second = rule_of(house.b, enabled=False)
    assert not await store.create(second, 9, house.audit(), tally=7)
    assert await store.create(second, 9, house.audit(), tally=1)
    with pytest.raises(PoisonError):
        await store.create(second, 9, house.audit())
    errors = FilterErrors(2, 50, "no such key")
    await store.failed(
        [
            FilterFailure(ENVIRONMENT, first.id, "true", errors),
            FilterFailure(ENVIRONMENT, first.id, "false", errors),
        ]
    )
    older = FilterErrors(1, 40, "older")
    await store.failed([FilterFailure(ENVIRONMENT, first.id, "true", older)])
    assert await store.failures(ENVIRONMENT, [first.id, second.id]) == {
        first.id: FilterErrors(3, 50, "no such key")
    }
    renamed = rule_of(house.b, id=first.id, version=2, name="renamed", filter="true",
                      created_at_ms=first.created_at_ms)  # fmt: skip
    assert not await store.replace(renamed, house.audit(), tally=1)
    assert await store.replace(renamed, house.audit(), tally=2)
    assert await store.failures(ENVIRONMENT, [first.id]) != {}
    assert not await store.replace(renamed, house.audit())  # although the tally's version rises
    assert (await store.filtered(ENVIRONMENT, None, 9)).tally == 4
    another = rule_of(house.b, filter="true")
    assert await store.create(another, 9, house.audit())
    assert len((await store.filtered(ENVIRONMENT, None, 9)).patterns) == 2
    # the other rule is past the limit
    assert len((await store.filtered(ENVIRONMENT, None, 0)).patterns) == 1
    assert await store.remove(another, house.audit())
    assert await store.get(ENVIRONMENT, first.id) == renamed == await store.find(first.id)
    assert await store.get(ENVIRONMENT + 1, first.id) is None
    assert await store.page(ENVIRONMENT, (house.b,), None, None, 9) == [second, renamed]
    assert await store.page(ENVIRONMENT, None, False, None, 9) == [second]
    assert await store.page(ENVIRONMENT, None, None, second.id, 9) == [renamed]
    assert await store.page(ENVIRONMENT, None, None, None, 9, identity.other()) == []
    assert not await store.remove(first, house.audit())  # an older version
    assert await store.remove(renamed, house.audit())
    assert await store.failures(ENVIRONMENT, [first.id]) == {}
    assert (await store.filtered(ENVIRONMENT, None, 9)).rules == 1
    assert not await store.remove(renamed, house.audit())


async def test_all_of_it_is_read_as_of_one_instant(house: House) -> None:
    rule = rule_of(house.a)
    assert await house.ports.rules.create(rule, 9, house.audit())
    archived = await house.switch(house.b, DestinationStatus.ARCHIVED)
    found = await house.ports.configuration.load()
    assert sorted(found.destinations, key=lambda record: record.id) == [
        house.record(house.a),
        archived,
    ]
    assert found.rules == [rule]
    assert {tenant.workspace.name for tenant in found.tenants} == {"one", "two", "three"}
    numbers = [each.number for tenant in found.tenants for each in tenant.environments]
    assert sorted(numbers) == list(range(1, 10))
    assert (found.keys, found.schemas, found.settings) == ([], [], [])
