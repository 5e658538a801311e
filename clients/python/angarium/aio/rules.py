"""Routing rules: which events go where."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Unpack

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import Call, at, body_of, query_of
from angarium.filters import RuleFilter
from angarium.shapes import Page, Priority, RoutingRule, RuleChange, RulePreview, Success


class AsyncRoutingRules(AsyncResource):
    """Routing rules."""

    async def create(
        self,
        name: str,
        destination_id: str,
        event_types: Sequence[str],
        *,
        filter: str | None = None,  # noqa: A002 - the API's word
        priority: Priority | None = None,
        enabled: bool | None = None,
    ) -> RoutingRule:
        """Create a rule; `order.*` is every type below `order.`, `*` every type.

        `filter` is a CEL expression over `event`, such as `event.payload.total > 100`.
        """
        body = {
            "name": name,
            "destination_id": destination_id,
            "event_types": list(event_types),
            "filter": filter,
            "priority": priority,
            "enabled": enabled,
        }
        return await self._send(
            Call("POST", "/routing-rules", body=body_of(body), repeatable=False)
        )

    async def get(self, rule_id: str) -> RoutingRule:
        """Return a rule."""
        return await self._send(Call("GET", at("routing-rules", rule_id)))

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[RuleFilter],
    ) -> Page[RoutingRule]:
        """Return one page of rules."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return await self._send(Call("GET", "/routing-rules", query))

    def iterate(self, **chosen: Unpack[RuleFilter]) -> AsyncIterator[RoutingRule]:
        """Yield all rules that `chosen` allows, newest first."""
        return follow_pages(self._send, "/routing-rules", chosen)

    async def update(self, rule_id: str, change: RuleChange) -> RoutingRule:
        """Change what `change` names."""
        return await self._send(Call("PATCH", at("routing-rules", rule_id), body=change))

    async def delete(self, rule_id: str) -> Success:
        """Delete a rule."""
        path = at("routing-rules", rule_id)
        return await self._send(Call("DELETE", path, gone_is_done=True))

    async def enable(self, rule_id: str) -> RoutingRule:
        """Let a rule match."""
        return await self._send(Call("POST", at("routing-rules", rule_id, "enable"), body={}))

    async def disable(self, rule_id: str) -> RoutingRule:
        """Keep a rule from matching."""
        return await self._send(Call("POST", at("routing-rules", rule_id, "disable"), body={}))

    async def preview(
        self, event: Mapping[str, Any], *, rule: Mapping[str, Any] | None = None
    ) -> RulePreview:
        """Say which destinations an event would reach, and why; nothing is sent.

        `event` is as for `POST /events`; `rule` is one that does not exist yet, to be tried.
        """
        body = body_of({"event": dict(event), "rule": None if rule is None else dict(rule)})
        return await self._send(Call("POST", "/routing-rules/preview", body=body))
