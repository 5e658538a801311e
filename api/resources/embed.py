"""POST /embed/sessions: a token for one end-customer's browser."""

from pydantic import Field

from api.call import Answer, Call
from api.routes import MANAGE, Embed, Route
from api.shapes.credentials import EmbedSession
from engine.control.drafts import Document, Name
from engine.control.sessions import TTL_LEAST_S, TTL_MOST_S, TTL_S
from engine.instants import iso


class SessionDraft(Document):
    """A session as the customer's servers ask for it."""

    customer_external_id: Name = Field(
        description="The end-customer; the account is opened when it is new."
    )
    ttl_seconds: int = Field(
        TTL_S,
        ge=TTL_LEAST_S,
        le=TTL_MOST_S,
        description="How long it lives; nothing ends it before.",
    )


async def create(call: Call) -> Answer:
    """Open a session; its token is in this answer and nowhere else."""
    draft = call.body_as(SessionDraft)
    services = call.services
    session = await services.sessions.create(
        call.actor, call.number, draft.customer_external_id, draft.ttl_seconds
    )
    portal = services.portal_url
    return Answer(
        201,
        {
            "token": session.token,
            "expiresAt": iso(session.expires_at_ms),
            "customerAccountId": session.customer.account,
            "url": None if portal is None else f"{portal}#token={session.token}",
        },
    )


ROUTES = (
    Route(
        method="POST",
        path="/embed/sessions",
        name="createEmbedSession",
        summary="Open an embed session",
        description="The token is a credential for one end-customer's browser: it sees and changes only "
        "what belongs to that customer's account in this environment, and has a rate limit of its own, a "
        "tenth of the workspace's. It travels in the fragment of `url`, which no browser sends on.",
        tag="Embed",
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=create,
        body=SessionDraft,
        responses={201: EmbedSession},
        example={"customerExternalId": "acme", "ttlSeconds": 300},
    ),
)
