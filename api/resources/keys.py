"""The routes for keys. `Reach` limits the keys that a caller can see and change."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from api import shapes
from api.call import Call
from api.pages import portioned_page, position
from api.queries import ListQuery
from api.routes import MANAGE, READ, Embed, Method, Repeat, Route
from api.shapes.accounts import ApiKey, ApiKeyWithSecret
from engine.control.keys import NewKey, Reach
from engine.core.vocabulary import CredentialKind, Environment, Scope
from engine.drafts import Document, Name, NullIs
from engine.model.configuration import KeyRecord
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import iso, iso_or_none
from engine.model.words import SCOPES, KeyKindName, ScopeName, Word, word_or_none

TAG = "Keys"
LISTING = "/api-keys"


class KeyQuery(ListQuery):
    """The environment of the keys, for a calling MCP key."""

    environment: Word[Environment] | None = None


class KeyDraft(Document):
    """A new key."""

    kind: Annotated[
        KeyKindName,
        NullIs("API_KEY"),
    ] = Field("API_KEY", description="Only an MCP key or the command line can create an MCP_KEY.")
    name: Name = Field(json_schema_extra={"pattern": r"^[^\u0000-\u001f\u007f]+$"})
    scope: ScopeName = Field(description="The scope. An MCP key has `read` or `manage`.")
    environment: Word[Environment] | None = Field(
        None,
        description="The environment of an API key. Needed if an MCP key creates it; otherwise "
        "the creator's own.",
    )


def reach_of(call: Call) -> Reach:
    """Return the keys that the caller can see."""
    credential = call.admitted.credential
    mcp = credential.kind is CredentialKind.MCP_KEY and credential.scope is Scope.MANAGE
    return Reach(credential.workspace, call.number, mcp)


def view(call: Call, key: KeyRecord) -> ApiKey:
    """Return the view of a key."""
    secret = key.secrets[0]
    used_at_ms = call.services.last_use.latest_ms(key.id, key.last_used_at_ms)
    return {
        "id": key.id,
        "kind": "MCP_KEY" if key.kind is CredentialKind.MCP_KEY else "API_KEY",
        "name": key.name,
        "scope": SCOPES[key.scope],
        "environment": word_or_none(key.environment_name),
        "prefix": secret.prefix,
        "lastFour": secret.last_four,
        "fingerprint": secret.fingerprint,
        "createdAt": iso(created_at_ms(key.id)),
        "lastUsedAt": iso_or_none(used_at_ms),
        "expiresAt": None,
    }


async def listing(call: Call) -> shapes.Page[ApiKey]:
    """List the keys that the caller can see, newest first."""
    query = call.query_as(KeyQuery)
    below = position(LISTING, call.number, query.cursor)
    take = partial(call.services.keys.page, reach_of(call))

    async def views(keys: Sequence[KeyRecord]) -> list[ApiKey]:
        return [view(call, key) for key in keys]

    return await portioned_page(take, views, LISTING, call.number, below, query.limit)


async def create(call: Call) -> ApiKeyWithSecret:
    """Create a key; only this answer has its secret."""
    draft = call.body_as(KeyDraft)
    reach = reach_of(call)
    is_mcp = draft.kind == "MCP_KEY"
    if is_mcp and draft.environment is not None:
        raise invalid("environment", "must be absent: an MCP key has no environment")
    if is_mcp and not reach.mcp:
        raise Refusal("forbidden", "only an MCP key of scope manage can create MCP keys")
    services = call.services
    environment = None if is_mcp else call.environment
    made = await services.commands.run(
        lambda: services.keys.create_in(
            reach.workspace,
            Scope[draft.scope.upper()],
            environment,
            draft.name,
            principal=call.principal,
        )
    )
    return _with_secret(call, made)


async def rotate(call: Call) -> ApiKeyWithSecret:
    """Give a key a new secret; only this answer has it."""
    identifier, reach, services = call.identifier(), reach_of(call), call.services
    made = await services.commands.run(
        lambda: services.keys.rotate(identifier, principal=call.principal, reach=reach)
    )
    return _with_secret(call, made)


async def revoke(call: Call) -> shapes.Success:
    """End a key with all its secrets."""
    identifier, reach, services = call.identifier(), reach_of(call), call.services
    await services.commands.run(
        lambda: services.keys.revoke(identifier, principal=call.principal, reach=reach)
    )
    return {"success": True}


def _with_secret(call: Call, made: NewKey) -> ApiKeyWithSecret:
    return {**view(call, made.key), "secret": made.secret}


ROUTES = (
    Route(
        method="POST",
        path="/api-keys",
        name="createApiKey",
        client=Method("api_keys.create"),
        summary="Create a key",
        description="Only this answer has the secret. An API key creates keys of its own "
        "environment. An MCP key of scope `manage` creates keys of any environment, and MCP keys. "
        "An environment has at most 1,000 keys.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.REFUSED,
        in_grace=False,
        handler=create,
        body=KeyDraft,
        status=201,
        example={"name": "billing service", "scope": "ingest"},
    ),
    Route(
        method="GET",
        path="/api-keys",
        name="listApiKeys",
        client=Method("api_keys.list"),
        summary="List keys",
        description="Lists the keys of the environment that are not revoked. An MCP key of scope "
        "`manage` also sees the workspace's MCP keys.",
        tag=TAG,
        scopes=READ,
        embed=Embed.REFUSED,
        handler=listing,
        query=KeyQuery,
    ),
    Route(
        method="POST",
        path="/api-keys/{id}/rotate",
        name="rotateApiKey",
        client=Method("api_keys.rotate"),
        repeat=Repeat.NEVER,
        summary="Give a key a new secret",
        description="Only this answer has the new secret. Each former secret stays valid for 24 "
        "hours after its rotation; 409 after nine rotations within a day. A former secret cannot "
        "create, rotate or revoke keys: 403.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.REFUSED,
        in_grace=False,
        handler=rotate,
        action=True,
        refusals=(404, 409),
    ),
    Route(
        method="DELETE",
        path="/api-keys/{id}",
        name="revokeApiKey",
        client=Method("api_keys.revoke"),
        repeat=Repeat.GONE_IS_DONE,
        summary="Revoke a key",
        description="All secrets of the key end at once; in other processes within a second. A "
        "key can revoke itself.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.REFUSED,
        in_grace=False,
        handler=revoke,
        action=True,
        refusals=(404, 409),
    ),
)
