"""Transform scripts: what a destination is sent, in versions."""

from collections.abc import AsyncIterator

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import Call, at, body_of
from angarium.shapes import JsonObject, Success, TransformRun, TransformScript


class AsyncTransformScripts(AsyncResource):
    """Transform scripts."""

    async def create(self, destination_id: str, name: str, source: str) -> TransformScript:
        """Create the next version of a destination's script (JavaScript), as a DRAFT."""
        body = {"destination_id": destination_id, "name": name, "source": source}
        path = "/transform-scripts"
        return await self._send(Call("POST", path, body=body_of(body), repeatable=False))

    async def get(self, script_id: str) -> TransformScript:
        """Return a version by its id."""
        return await self._send(Call("GET", at("transform-scripts", script_id)))

    def of_destination(self, destination_id: str) -> AsyncIterator[TransformScript]:
        """Yield a destination's versions, newest first."""
        path = at("destinations", destination_id, "transform-scripts")
        return follow_pages(self._send, path, {})

    async def publish(self, script_id: str) -> TransformScript:
        """Use this version for every attempt that begins from now on. An earlier one: roll back."""
        return await self._send(
            Call("POST", at("transform-scripts", script_id, "publish"), body={})
        )

    async def unpublish(self, script_id: str) -> TransformScript:
        """Send the events' own bodies again, where this version is the one that is published."""
        # done twice, the second is a conflict: it is not published any more
        path = at("transform-scripts", script_id, "unpublish")
        return await self._send(Call("POST", path, body={}, repeatable=False))

    async def delete(self, script_id: str) -> Success:
        """Delete a version that is not published."""
        path = at("transform-scripts", script_id)
        return await self._send(Call("DELETE", path, gone_is_done=True))

    async def run(
        self,
        script_id: str,
        event: JsonObject | None = None,
        *,
        event_id: str | None = None,
    ) -> TransformRun:
        """Run a version over `event`, an outbound body, or over that of the event `event_id`. Nothing is
        sent or changed."""
        body = {"event": event, "event_id": event_id}
        path = at("transform-scripts", script_id, "run")
        return await self._send(Call("POST", path, body=body_of(body)))
