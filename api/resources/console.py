"""Console sessions: a browser's tab gets a token for an API key."""

from msgspec import structs

from api import shapes
from api.call import Call
from api.routes import READ, Embed, Repeat, Route
from api.shapes.accounts import ConsoleSession
from engine.control.audit import Principal
from engine.core.vocabulary import Environment
from engine.model.errors import Refusal
from engine.model.instants import iso
from engine.model.words import SCOPES, word

TAG = "Console"


def _actor(call: Call) -> Principal:
    """Return the caller, for the audit log. A console session belongs to no environment. So the log entry
    of its opening or end names the environment of the credential that the request was sent with, or none
    if this credential is valid in all environments."""
    own = call.admitted.credential.environment
    return structs.replace(call.principal, environment=own.number if own else None)


async def create(call: Call) -> ConsoleSession:
    """Open a session for the caller's key or login code. Raises Refusal 403 if the caller's credential is
    a session: otherwise sessions could be prolonged without end."""
    credential = call.admitted.credential
    if credential.session and not credential.code:
        raise Refusal(
            "forbidden", "a console session cannot open another one: sign in with the key"
        )
    opened = await call.services.console.open(_actor(call), credential)
    own = credential.environment
    return {
        "token": opened.token,
        "expiresAt": iso(opened.expires_at_ms),
        "environments": [word(each) for each in ([own.name] if own else Environment)],
        "scope": SCOPES[credential.scope],
    }


async def delete(call: Call) -> shapes.Success:
    """End the calling session; a calling key stays valid."""
    await call.services.console.end(_actor(call), call.admitted.credential)
    return {"success": True}


ROUTES = (
    Route(
        method="POST",
        path="/console/sessions",
        name="createConsoleSession",
        summary="Open a console session",
        description="Creates a token for the console in a browser's tab, with the rights of the "
        "calling key. The token is valid for 12 hours, and ends with the key. A login code of "
        "`angarium console` can open one session.",
        tag=TAG,
        scopes=READ,
        embed=Embed.REFUSED,
        opens_session=True,
        in_grace=False,  # a session has the rights of the present secret, so a former one gets none
        handler=create,
        action=True,
        repeat=Repeat.FREELY,
        status=201,
        environment=False,
    ),
    Route(
        method="DELETE",
        path="/console/sessions",
        name="deleteConsoleSession",
        summary="End the calling console session",
        description="With an API key, the request ends no session. Other nodes refuse the session "
        "at once. A node that starts later accepts the token until it expires.",
        tag=TAG,
        scopes=READ,
        embed=Embed.REFUSED,
        handler=delete,
        action=True,
        repeat=Repeat.FREELY,
        environment=False,
    ),
)
