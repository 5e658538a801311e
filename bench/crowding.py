"""The creation of thousands of destinations by SQL: copies of one destination and its rule.

The copies take seconds. The API would need tens of thousands of requests, and minutes.
"""

import asyncio
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import msgspec

from bench.service import Service
from engine.control.keys import PREFIX_OF
from engine.core.vocabulary import Environment
from engine.model.identity import Identity
from engine.model.read_models import digest_of
from storage.embedded.server import attached
from storage.encryption.key_file import KEY_FILE, KeyFile
from storage.encryption.secretbox import SecretBox

MAX_RULES = 1_000  # in an environment
# Copies one row, once for each object of a JSON array. The object's values replace the row's values in
# the copy. All other columns are copied, also columns that a later migration adds.
_COPY = """
INSERT INTO {table} SELECT (jsonb_populate_record(t, change)).*
FROM {table} t, jsonb_array_elements($1::text::jsonb) change WHERE {where}"""
_NUMBERS = """
INSERT INTO environments (workspace, name)
SELECT w, n FROM unnest($1::uuid[]) w, unnest($2::smallint[]) n RETURNING number, workspace, name"""
_ACCOUNTS = """
INSERT INTO customer_accounts (environment, external_id, id)
SELECT * FROM unnest($1::integer[], $2::text[], $3::uuid[])"""
_TALLIES = """
INSERT INTO routing_tallies (environment, rules)
SELECT environment, count(*) FROM routing_rules WHERE environment = ANY($1) GROUP BY 1"""
_COUNTED = """
UPDATE environments e SET destinations =
    (SELECT count(*) FROM destinations d WHERE d.environment = e.number)
WHERE number = ANY($1)"""
_TEMPLATE = """
SELECT d.sealed, r.id AS rule, k.id AS key, k.workspace
FROM destinations d, routing_rules r, api_keys k JOIN key_secrets s ON s.key = k.id
WHERE d.id = $1::uuid AND r.destination = d.id AND s.digest = $2"""


@dataclass(frozen=True)
class Crowd:
    """The created destinations. `keys` has one API key for each environment. The first
    `per_environment` destinations are in the environment of the first key, the next `per_environment` in
    the environment of the second key, and so on. If each destination has its own customer, the customers
    are `c0`, `c1` ..."""

    keys: Sequence[str]
    per_environment: int


@dataclass(frozen=True)
class Place:
    """An environment and its key."""

    number: int
    workspace: str
    name: Environment
    key: str


def crowd(
    service: Service,
    template: str,
    url: str,
    count: int,
    *,
    key: str = "",
    customers: bool = True,
    workspaces: bool = False,
) -> Crowd:
    """Copy a destination and its rule `count` times. The server reads the copies at its next start.

    `template`: the ID of the destination. `key`: the API key of its environment (default: `service.key`).
    In `url`, `{}` is replaced by the number of the copy. `customers`: each copy has its own customer;
    otherwise all copies in an environment get the same events. `workspaces`: each copy has its own
    workspace, and the workspaces are evenly distributed over the workers.
    """
    box = SecretBox(KeyFile(service.folder / KEY_FILE).read())
    with attached(service.folder) as database:
        like = key or service.key
        per_environment = 1 if workspaces else MAX_RULES
        return asyncio.run(
            _crowd(database, like, box, template, url, count, customers, per_environment)
        )


def copied_rules(service: Service, destination: str, patterns: Sequence[Sequence[str]]) -> None:
    """Copy a destination's rule once for each list of event type patterns. The server reads the copies at
    its next start."""
    with attached(service.folder) as database:
        asyncio.run(_copied_rules(database, destination, patterns))


async def _copied_rules(database: str, destination: str, patterns: Sequence[Sequence[str]]) -> None:
    connection = await asyncpg.connect(database, ssl="disable", command_timeout=300)
    identity = Identity()
    try:
        changes = [{"id": identity.other(), "event_types": list(each)} for each in patterns]
        await _copy(connection, "routing_rules", f"t.destination = '{destination}'", changes)
    finally:
        await connection.close()


async def _crowd(
    database: str,
    key: str,
    box: SecretBox,
    template: str,
    url: str,
    count: int,
    customers: bool,
    per_environment: int,
) -> Crowd:
    connection = await asyncpg.connect(database, ssl="disable", command_timeout=300)
    identity = Identity()
    try:
        async with connection.transaction():
            like = await connection.fetchrow(_TEMPLATE, template, digest_of(key.encode()))
            assert like is not None, "the destination to copy does not exist"
            environments = math.ceil(count / per_environment)
            alone = per_environment == 1
            places = await _places(connection, identity, like, environments, alone=alone)
            ids = [identity.other() for _ in range(count)]
            where = [places[number // per_environment].number for number in range(count)]
            names = [f"c{number}" for number in range(count)]
            accounts = [identity.other() for _ in range(count)]
            if customers:
                await connection.execute(_ACCOUNTS, where, names, accounts)
            plain = box.open(like["sealed"], f"destinations/{template}")
            await _copy(
                connection,
                "destinations",
                f"t.id = '{template}'",
                [
                    {
                        "id": ids[number],
                        "environment": where[number],
                        "url": url.format(number),
                        "customer": names[number] if customers else None,
                        "customer_account": accounts[number] if customers else None,
                        "sealed": _hex(box.seal(plain, f"destinations/{ids[number]}")),
                    }
                    for number in range(count)
                ],
            )
            await _copy(
                connection,
                "destination_versions",
                f"t.destination = '{template}'",
                [
                    {
                        "destination": ids[number],
                        "environment": where[number],
                        "url": url.format(number),
                    }
                    for number in range(count)
                ],
            )
            await _copy(
                connection,
                "routing_rules",
                f"t.id = '{like['rule']}'",
                [
                    {
                        "id": identity.other(),
                        "environment": where[number],
                        "destination": ids[number],
                    }
                    for number in range(count)
                ],
            )
            numbers = [place.number for place in places]
            await connection.execute(_TALLIES, numbers)
            await connection.execute(_COUNTED, numbers)
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()
    return Crowd([place.key for place in places], per_environment)


async def _places(
    connection: Any, identity: Identity, like: Any, number: int, *, alone: bool
) -> list[Place]:
    """Create environments and their workspaces. With `alone`, each workspace has one environment,
    otherwise three.

    The end of a workspace's ID determines the worker that owns the workspace. With `alone`, the IDs end
    with 0, 1, 2 and so on, so the workspaces are spread over the workers. Otherwise, all IDs end like the
    ID of the workspace `like["workspace"]`, so the owner of that workspace owns all new workspaces.
    """
    names = list(Environment)[:1] if alone else list(Environment)
    first, step = (0, 1) if alone else (int(str(like["workspace"])[-2:], 16), 0)
    workspaces = [
        f"{identity.other()[:-2]}{(first + step * each) % 256:02x}"
        for each in range(math.ceil(number / len(names)))
    ]
    await _copy(
        connection,
        "workspaces",
        f"t.id = '{like['workspace']}'",
        [{"id": each, "name": f"crowd {each}", "transforms": 0} for each in workspaces],
    )
    rows = await connection.fetch(_NUMBERS, workspaces, [int(each) for each in names])
    places = []
    for row in sorted(rows, key=lambda row: int(row["number"]))[:number]:
        name = Environment(row["name"])
        secret = PREFIX_OF[name] + secrets.token_hex(20)
        places.append(Place(row["number"], str(row["workspace"]), name, secret))
    ids = [identity.other() for _ in places]
    await _copy(
        connection,
        "api_keys",
        f"t.id = '{like['key']}'",
        [
            {"id": each, "workspace": place.workspace, "environment": place.number}
            for each, place in zip(ids, places, strict=True)
        ],
    )
    await _copy(
        connection,
        "key_secrets",
        f"t.key = '{like['key']}'",
        [
            {
                "key": each,
                "digest": _hex(digest_of(place.key.encode())),
                "prefix": PREFIX_OF[place.name],
            }
            for each, place in zip(ids, places, strict=True)
        ],
    )
    return places


async def _copy(
    connection: Any, table: str, where: str, changes: Sequence[Mapping[str, Any]]
) -> None:
    done = await connection.execute(
        _COPY.format(table=table, where=where), msgspec.json.encode(changes).decode()
    )
    assert done == f"INSERT 0 {len(changes)}", f"{table}: {done}"


def _hex(content: bytes) -> str:
    return "\\x" + content.hex()
