# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.embed_sessions`."""

from angarium.aio.resource import AsyncResource
from angarium.calls import Call, body_of
from angarium.shapes import EmbedContext, EmbedSession


class AsyncEmbedSessions(AsyncResource):
    """Short-lived sessions for an end-customer's browser, and the data of its portal."""

    async def create(
        self, customer_external_id: str, *, ttl_seconds: int | None = None
    ) -> EmbedSession:
        """Open an embed session.

        The token is a credential for one end-customer's browser. It sees and changes only
        objects of that customer's account in this environment. The account has its own quotas
        of destinations, rules, scripts and requests a minute. `url` has the token in its
        fragment, which browsers do not send to servers.
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

        Shows the session's customer and expiry, the workspace's branding, and the session's
        permissions and limits.
        """
        return await self._send(Call("GET", "/embed/context"))
