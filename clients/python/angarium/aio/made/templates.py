# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.templates`."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import Call, at, body_of, query_of
from angarium.shapes import DestinationTemplate, Page, TemplatePreview


class AsyncTemplates(AsyncResource):
    """The catalog of services for which destinations can be created."""

    async def list(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[DestinationTemplate]:
        """List the catalog of templates: one page.

        Sorted by name. The catalog is the same for all workspaces and environments.
        """
        query = query_of({"limit": limit, "cursor": cursor})
        return await self._send(Call("GET", "/destination-templates", query))

    def iterate(self) -> AsyncIterator[DestinationTemplate]:
        """List the catalog of templates: all pages.

        Sorted by name. The catalog is the same for all workspaces and environments.
        """
        return follow_pages(self._send, "/destination-templates", {})

    async def get(self, template_id: str) -> DestinationTemplate:
        """Show a template."""
        return await self._send(Call("GET", at("destination-templates", template_id)))

    async def preview(
        self,
        template_id: str,
        config: Mapping[str, Any] | None = None,
        *,
        destination_id: str | None = None,
        event: Mapping[str, Any] | None = None,
        event_id: str | None = None,
    ) -> TemplatePreview:
        """Try a template on an event.

        Shows the request to the service, with masks for secrets. Nothing is sent or stored,
        so scope `read` is enough. `errors` lists the errors of `config`, and the reasons why
        the event does not fit the service's format. A destination's transform script is not
        run.
        """
        return await self._send(
            Call(
                "POST",
                at("destination-templates", template_id, "preview"),
                body=body_of(
                    {
                        "config": config,
                        "destination_id": destination_id,
                        "event": event,
                        "event_id": event_id,
                    }
                ),
            )
        )
