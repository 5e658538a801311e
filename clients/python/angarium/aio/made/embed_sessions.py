# Made of the API's routes by `python -m api.generation`; do not edit.
"""The methods of `client.embed_sessions` that are made."""

from angarium.aio.resource import AsyncResource
from angarium.calls import Call, body_of
from angarium.shapes import EmbedContext, EmbedSession


class AsyncEmbedSessions(AsyncResource):
    """Short-lived sessions for an end-customer's browser, and what its portal needs."""

    async def create(
        self, customer_external_id: str, *, ttl_seconds: int | None = None
    ) -> EmbedSession:
        """Open an embed session.

        The token is a credential for one end-customer's browser: it sees and changes only
        what belongs to that customer's account in this environment, and has quotas of its
        own: destinations, rules, scripts, requests a minute. It travels in the fragment of
        `url`, which no browser sends on.
        """
        return await self._send(
            Call(
                "POST",
                "/embed/sessions",
                body=body_of(
                    {"customer_external_id": customer_external_id, "ttl_seconds": ttl_seconds}
                ),
            )
        )

    async def context(self) -> EmbedContext:
        """Show the data of a portal.

        The session's customer and its end, the workspace's branding, and what the portal can
        offer.
        """
        return await self._send(Call("GET", "/embed/context"))
