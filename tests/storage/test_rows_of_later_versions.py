"""Rows from a later version of the service, as this version reads them."""

import json

from engine.model.quotas import Ability
from storage.configuration.customers import customer_account
from storage.database.bridge import Bridge

_ACCOUNT = """
    SELECT gen_random_uuid()::text AS id, 1 AS environment, 'ada' AS external_id, 1 AS version,
        $1::bytea AS document, NULL::bigint AS requested_at_ms"""


async def test_a_permission_that_is_unknown_here_leaves_the_account_readable(
    bridge: Bridge,
) -> None:
    said = {"name": "Ada", "permissions": {"replay": False, "paintDestinations": True}}
    row = await bridge.pool.fetch_row(_ACCOUNT, json.dumps(said).encode())
    assert row is not None
    account = customer_account(row)
    assert (account.name, account.permissions) == ("Ada", {Ability.REPLAY: False})
