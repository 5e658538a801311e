"""Who holds idempotency keys, read; the intake's statement alone writes them."""

from collections.abc import Sequence

from engine.ports import Claimed
from storage.database.bridge import Pool

HOLDERS = """
    SELECT key, event::text AS event, deliveries, digest FROM idempotency
    WHERE environment = $1::integer AND key = ANY ($2::text[]) AND expires_at_ms > $3::bigint
"""


class PostgresClaims:
    """`engine.submission.key_lookup.ClaimReader` on the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def holders(
        self, environment: int, keys: Sequence[str], now_ms: int
    ) -> dict[str, Claimed]:
        """Return the holders of those keys that are held; see the port."""
        rows = await self._pool.fetch(HOLDERS, environment, list(keys), now_ms)
        return {row["key"]: Claimed(row["event"], row["deliveries"], row["digest"]) for row in rows}
