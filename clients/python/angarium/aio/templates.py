"""Destination templates: the catalog of services that destinations can be made for."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import Call, at, body_of, query_of
from angarium.shapes import DestinationTemplate, Page, TemplatePreview


class AsyncTemplates(AsyncResource):
    """The catalog of destination templates."""

    async def list(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[DestinationTemplate]:
        """Return one page of templates, by name."""
        query = query_of({"limit": limit, "cursor": cursor})
        return await self._send(Call("GET", "/destination-templates", query))

    def iterate(self) -> AsyncIterator[DestinationTemplate]:
        """Yield all templates, by name."""
        return follow_pages(self._send, "/destination-templates", {})

    async def get(self, template_id: str) -> DestinationTemplate:
        """Return a template, such as `slack`."""
        return await self._send(Call("GET", at("destination-templates", template_id)))

    async def preview(
        self,
        template_id: str,
        config: Mapping[str, Any] | None = None,
        *,
        event: Mapping[str, Any] | None = None,
        event_id: str | None = None,
        destination_id: str | None = None,
    ) -> TemplatePreview:
        """Return what the service would be sent for an event: one as it is ingested or as it is sent out,
        one that was sent, or else the template's example. Nothing is sent, and secrets are not needed."""
        body = {
            "config": None if config is None else dict(config),
            "event": None if event is None else dict(event),
            "event_id": event_id,
            "destination_id": destination_id,
        }
        path = at("destination-templates", template_id, "preview")
        return await self._send(Call("POST", path, body=body_of(body)))
