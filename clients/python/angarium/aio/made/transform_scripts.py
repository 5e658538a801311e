# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.transform_scripts`."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import Call, at, body_of
from angarium.shapes import Success, TransformRun, TransformScript


class AsyncTransformScripts(AsyncResource):
    """JavaScript that changes a destination's requests. One version is published."""

    async def create(self, destination_id: str, name: str, source: str) -> TransformScript:
        """Create a version of a transform script.

        `source` is JavaScript with `function transform(event) { return ...; }` over the
        outbound body. It becomes the next version for its destination, a DRAFT, and is used
        once it is published. A script has at most 64 KiB (413). A script that does not
        compile gets 400 with the line. 402 if the plan has no scripts, or no room for another
        one.
        """
        return await self._send(
            Call(
                "POST",
                "/transform-scripts",
                body=body_of({"destination_id": destination_id, "name": name, "source": source}),
                repeatable=False,
            )
        )

    def of_destination(self, destination_id: str) -> AsyncIterator[TransformScript]:
        """List a destination's transform scripts: all pages.

        A page has a limit in bytes too, because scripts can be long. A page can therefore
        hold fewer than `limit` scripts and still have a `nextCursor`.
        """
        return follow_pages(self._send, at("destinations", destination_id, "transform-scripts"), {})

    async def get(self, script_id: str) -> TransformScript:
        """Show a version of a transform script."""
        return await self._send(Call("GET", at("transform-scripts", script_id)))

    async def delete(self, script_id: str) -> Success:
        """Delete a version of a transform script.

        You cannot delete a PUBLISHED version. A deleted version no longer counts against the
        plan's limit. Its number is never used again.
        """
        return await self._send(
            Call("DELETE", at("transform-scripts", script_id), gone_is_done=True)
        )

    async def publish(self, script_id: str) -> TransformScript:
        """Publish a version of a transform script.

        Every attempt that begins from now on uses this version, including retries. The
        version that was PUBLISHED becomes SUPERSEDED. To roll back, publish an earlier
        version. Publishing the PUBLISHED version again changes nothing.
        """
        return await self._send(
            Call("POST", at("transform-scripts", script_id, "publish"), body={})
        )

    async def unpublish(self, script_id: str) -> TransformScript:
        """Unpublish a transform script.

        Attempts that begin from now on send the event's own body. 409 if this version is not
        the PUBLISHED one.
        """
        return await self._send(
            Call("POST", at("transform-scripts", script_id, "unpublish"), body={}, repeatable=False)
        )

    async def preview(
        self,
        destination_id: str,
        source: str,
        event: Mapping[str, Any] | None = None,
        *,
        event_id: str | None = None,
    ) -> TransformRun:
        """Run a transform script without storing it.

        Runs `source` as a script of the destination over `event`, an outbound body, or over
        the outbound body of the event `eventId`. Nothing is stored, sent or recorded. If the
        script fails or does not compile, the answer is 200 with `success` false. 402 if the
        plan has no scripts.
        """
        return await self._send(
            Call(
                "POST",
                "/transform-scripts/preview",
                body=body_of(
                    {
                        "destination_id": destination_id,
                        "source": source,
                        "event": event,
                        "event_id": event_id,
                    }
                ),
            )
        )

    async def run(
        self, script_id: str, event: Mapping[str, Any] | None = None, *, event_id: str | None = None
    ) -> TransformRun:
        """Run a version of a transform script over an event.

        Runs the version, published or not, over `event`, an outbound body, or over the
        outbound body of the event `eventId`. Nothing is sent, changed or recorded. If the
        script fails, the answer is 200 with `success` false.
        """
        return await self._send(
            Call(
                "POST",
                at("transform-scripts", script_id, "run"),
                body=body_of({"event": event, "event_id": event_id}),
            )
        )
