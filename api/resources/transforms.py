"""The routes for transform scripts."""

from typing import Any

import msgspec
import orjson

from api.call import Call
from api.pages import PAGE_BYTES, page, position
from api.queries import ListQuery
from api.resources.destinations import must_exist
from api.routes import MANAGE, READ, Command, Embed, Method, Repeat, Route
from api.shapes import Page, Success
from api.shapes.content import TransformRun, TransformScript
from api.shares import Share
from engine.control.transforms import DRAFT_BYTES, TransformDraft, TransformPreviewDraft
from engine.model.configuration import TransformScript as Script
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import iso, iso_or_none
from engine.model.quotas import Ability
from engine.model.words import word
from engine.outbound.ports import Failure
from engine.outbound.trials import TRIAL_BYTES, Trial, TrialDraft, checked

TAG = "Transform scripts"
COLUMNS = (
    ("ID", "id"),
    ("VERSION", "version"),
    ("STATUS", "status"),
    ("CREATED", "createdAt"),
    ("PUBLISHED", "publishedAt"),
    ("NAME", "name"),
)
SOURCE = """\
function transform(event) {
  if (event.data.total < 1) return null;
  return { text: "Order " + event.data.orderId + ": " + event.data.total };
}
"""
EXAMPLE = {
    "destinationId": "01939b2a-11f0-7c3e-9d52-2b7f4c6e8a01",
    "name": "Orders as text",
    "source": SOURCE,
}
TRIAL_EXAMPLE = {
    "event": {
        "type": "order.created",
        "timestamp": "2026-11-20T12:00:00.000Z",
        "id": "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10",
        "data": {"orderId": "o-1042", "total": 99.5},
    }
}


def view(call: Call, script: Script) -> TransformScript:
    """Return the view of a version."""
    return {
        "id": script.id,
        "destinationId": script.destination,
        "environment": word(call.environment_name),
        "name": script.name,
        "version": script.version,
        "source": script.source,
        "status": word(script.status),
        "publishedAt": iso_or_none(script.published_at_ms),
        "createdAt": iso(created_at_ms(script.id)),
    }


def trial_view(trial: Trial) -> TransformRun:
    """Return the view of a run."""
    result = trial.result
    failed = isinstance(result, Failure)
    made = None if isinstance(result, Failure) or result.skipped else result
    logs = result.logs
    return {
        "success": not failed,
        "input": orjson.Fragment(trial.input),
        "output": None if made is None else as_json(made.body),
        "skipped": not isinstance(result, Failure) and result.skipped,
        "type": None if made is None else made.type,
        "headers": {}
        if made is None
        else {
            name.decode("latin-1"): value.decode("utf-8", "replace") for name, value in made.headers
        },
        "logs": None if logs is None else logs.decode("utf-8", "replace"),
        "durationMs": trial.duration_ms,
        "errorCategory": word(result.category) if isinstance(result, Failure) else None,
        "errorMessage": result.message if isinstance(result, Failure) else None,
    }


def as_json(body: bytes) -> Any:
    """Return JSON unchanged, any other body as text."""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
        body.decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body.decode("utf-8", "replace")
    return orjson.Fragment(body)


async def required(call: Call) -> Script:
    """Return the script that the path names. Raises Refusal 404."""
    script = await call.services.transform_store.get(call.number, call.identifier())
    if script is None or not call.sees(script.customer_account):
        raise Refusal("not_found", "no such transform script")
    return script


async def create(call: Call) -> TransformScript:
    """Add the next version of a destination's script, as a draft."""
    draft = call.body_as(TransformDraft)
    script = await call.services.transforms.create(call.principal, call.number, draft)
    return view(call, script)


async def of_destination(call: Call) -> Page[TransformScript]:
    """List a destination's versions, newest first."""
    query = call.query_as(ListQuery)
    listed = f"/destinations/{call.path['destinationId'].lower()}/transform-scripts"
    below = position(listed, call.number, query.cursor)
    destination = call.identifier("destinationId")
    await must_exist(call, destination)
    found = await call.services.transform_store.page(
        call.number, destination, below, query.limit, PAGE_BYTES
    )
    items = [view(call, script) for script in found.items]
    return page(items, listed, call.number, found.below)


async def get(call: Call) -> TransformScript:
    """Show one version."""
    return view(call, await required(call))


async def publish(call: Call) -> TransformScript:
    """Publish a version."""
    script = await call.services.transforms.publish(call.principal, call.number, call.identifier())
    return view(call, script)


async def unpublish(call: Call) -> TransformScript:
    """Unpublish a version: the destination then has no script."""
    script = await call.services.transforms.unpublish(
        call.principal, call.number, call.identifier()
    )
    return view(call, script)


async def remove(call: Call) -> Success:
    """Remove a version that is not published."""
    await call.services.transforms.remove(call.principal, call.number, call.identifier())
    return {"success": True}


async def run(call: Call) -> TransformRun:
    """Run a version over a body, without sending it."""
    draft = checked(call.body_as(TrialDraft))
    return await _tried(call, draft, await required(call))


async def preview(call: Call) -> TransformRun:
    """Run a source that is not stored over a body, without sending it."""
    draft = call.body_as(TransformPreviewDraft)
    checked(draft)
    script = await call.services.transforms.unkept(call.principal, call.number, draft)
    return await _tried(call, draft, script)


async def _tried(call: Call, draft: TrialDraft, script: Script) -> TransformRun:
    trials, workspace = call.services.trials, call.environment.workspace
    if draft.event_id is None:
        assert draft.event is not None
        now_ms = int(call.services.now() * 1000)
        trial = await trials.of_body(workspace, script, draft.event, now_ms, call.customer)
    else:
        event = await call.services.event_log.event(call.number, draft.event_id)
        if event is None or not call.sees_customer(event.entry.customer):
            raise Refusal("not_found", "eventId: no such event")
        trial = await trials.of_event(workspace, script, event.event(), call.customer)
    return trial_view(trial)


ROUTES = (
    Route(
        method="POST",
        path="/transform-scripts",
        name="createTransformScript",
        client=Method("transform_scripts.create"),
        summary="Create a version of a transform script",
        description="`source` is JavaScript with `function transform(event) { return ...; }` over "
        "the outbound body. It becomes the next version for its destination, a DRAFT, and is used "
        "once it is published. A script has at most 64 KiB (413). A script that does not compile "
        "gets 400 with the line. 402 if the plan has no scripts, or no room for another one.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.MANAGE_TRANSFORMS,
        handler=create,
        body=TransformDraft,
        body_bytes=DRAFT_BYTES,
        status=201,
        refusals=(402, 404, 409),
        example=EXAMPLE,
    ),
    Route(
        method="GET",
        path="/destinations/{destinationId}/transform-scripts",
        name="listTransformScripts",
        command=Command("transforms list", COLUMNS),
        client=Method("transform_scripts.of_destination"),
        summary="List a destination's transform scripts",
        description="A page has a limit in bytes too, because scripts can be long. A page can "
        "therefore hold fewer than `limit` scripts and still have a `nextCursor`.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=of_destination,
        query=ListQuery,
        refusals=(404,),
    ),
    Route(
        method="GET",
        path="/transform-scripts/{id}",
        name="getTransformScript",
        client=Method("transform_scripts.get"),
        summary="Show a version of a transform script",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=get,
        refusals=(404,),
    ),
    Route(
        method="DELETE",
        path="/transform-scripts/{id}",
        name="deleteTransformScript",
        command=Command("transforms delete"),
        client=Method("transform_scripts.delete"),
        repeat=Repeat.GONE_IS_DONE,
        summary="Delete a version of a transform script",
        description="You cannot delete a PUBLISHED version. A deleted version no longer counts "
        "against the plan's limit. Its number is never used again.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.MANAGE_TRANSFORMS,
        handler=remove,
        action=True,
        refusals=(404, 409),
    ),
    Route(
        method="POST",
        path="/transform-scripts/{id}/publish",
        name="publishTransformScript",
        command=Command("transforms publish"),
        client=Method("transform_scripts.publish"),
        summary="Publish a version of a transform script",
        description="Every attempt that begins from now on uses this version, including retries. "
        "The version that was PUBLISHED becomes SUPERSEDED. To roll back, publish an earlier "
        "version. Publishing the PUBLISHED version again changes nothing.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.MANAGE_TRANSFORMS,
        handler=publish,
        action=True,
        refusals=(402, 404, 409),
    ),
    Route(
        method="POST",
        path="/transform-scripts/{id}/unpublish",
        name="unpublishTransformScript",
        command=Command("transforms unpublish"),
        client=Method("transform_scripts.unpublish"),
        repeat=Repeat.NEVER,
        summary="Unpublish a transform script",
        description="Attempts that begin from now on send the event's own body. 409 if this "
        "version is not the PUBLISHED one.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.MANAGE_TRANSFORMS,
        handler=unpublish,
        action=True,
        refusals=(404, 409),
    ),
    Route(
        method="POST",
        path="/transform-scripts/preview",
        share=Share.OUTWARD,
        name="previewTransformScript",
        client=Method("transform_scripts.preview", positional=("event",)),
        summary="Run a transform script without storing it",
        description="Runs `source` as a script of the destination over `event`, an outbound body, "
        "or over the outbound body of the event `eventId`. Nothing is stored, sent or recorded. "
        "If the script fails or does not compile, the answer is 200 with `success` false. 402 if "
        "the plan has no scripts.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.MANAGE_TRANSFORMS,
        field_abilities={"eventId": Ability.VIEW_PAYLOADS},
        handler=preview,
        body=TransformPreviewDraft,
        body_bytes=DRAFT_BYTES + TRIAL_BYTES,
        refusals=(402, 404, 409),
        example={
            "destinationId": EXAMPLE["destinationId"],
            "source": SOURCE,
            **TRIAL_EXAMPLE,
        },
    ),
    Route(
        method="POST",
        path="/transform-scripts/{id}/run",
        share=Share.OUTWARD,
        name="runTransformScript",
        client=Method("transform_scripts.run", positional=("event",)),
        summary="Run a version of a transform script over an event",
        description="Runs the version, published or not, over `event`, an outbound body, or over "
        "the outbound body of the event `eventId`. Nothing is sent, changed or recorded. If the "
        "script fails, the answer is 200 with `success` false.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.MANAGE_TRANSFORMS,
        field_abilities={"eventId": Ability.VIEW_PAYLOADS},
        handler=run,
        body=TrialDraft,
        body_bytes=TRIAL_BYTES,
        refusals=(404,),
        example=TRIAL_EXAMPLE,
    ),
)
