# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.routing_rules`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack

from angarium.calls import Call, at, body_of, query_of
from angarium.filters import RoutingRuleFilter
from angarium.shapes import (
    EventInput,
    Page,
    Priority,
    RoutingRule,
    RulePatch,
    RulePreview,
    RuleTrial,
    Success,
)
from angarium.sync.resource import Resource, follow_pages


class RoutingRules(Resource):
    """The rules that select the destinations of events."""

    def create(
        self,
        name: str,
        destination_id: str,
        event_types: Sequence[str],
        *,
        filter: str | None = None,  # noqa: A002 - the API's word
        priority: Priority | None = None,
        enabled: bool | None = None,
    ) -> RoutingRule:
        """Create a routing rule.

        If several rules of a destination match an event, they make one delivery, with the
        highest priority of these rules. One event type can have at most 100 rules with a
        filter for the destinations of one customer, and 100 for the destinations of no
        customer. A filter that fails for an event does not match; `filterErrors` counts such
        failures. 402 if the plan, or the quota of the session's customer, has no room for
        another rule.
        """
        return self._send(
            Call(
                "POST",
                "/routing-rules",
                body=body_of(
                    {
                        "name": name,
                        "destination_id": destination_id,
                        "event_types": event_types,
                        "filter": filter,
                        "priority": priority,
                        "enabled": enabled,
                    }
                ),
                repeatable=False,
            )
        )

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[RoutingRuleFilter],
    ) -> Page[RoutingRule]:
        """List routing rules: one page."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/routing-rules", query))

    def iterate(self, **chosen: Unpack[RoutingRuleFilter]) -> Iterator[RoutingRule]:
        """List routing rules: all pages."""
        return follow_pages(self._send, "/routing-rules", {**chosen})

    def get(self, rule_id: str) -> RoutingRule:
        """Show a routing rule."""
        return self._send(Call("GET", at("routing-rules", rule_id)))

    def update(self, rule_id: str, change: RulePatch) -> RoutingRule:
        """Change a routing rule.

        A merge patch (RFC 7396).
        """
        return self._send(Call("PATCH", at("routing-rules", rule_id), body=change))

    def delete(self, rule_id: str) -> Success:
        """Delete a routing rule."""
        return self._send(Call("DELETE", at("routing-rules", rule_id), gone_is_done=True))

    def preview(
        self,
        event: EventInput | Mapping[str, Any],
        *,
        rule: RuleTrial | Mapping[str, Any] | None = None,
    ) -> RulePreview:
        """Try an event on the rules.

        Shows the destinations that an example event would reach, and the result of each rule
        for its type. Nothing is sent or stored, so scope `read` is enough. `rule` is an
        additional rule to try.
        """
        return self._send(
            Call("POST", "/routing-rules/preview", body=body_of({"event": event, "rule": rule}))
        )

    def enable(self, rule_id: str) -> RoutingRule:
        """Enable a routing rule."""
        return self._send(Call("POST", at("routing-rules", rule_id, "enable"), body={}))

    def disable(self, rule_id: str) -> RoutingRule:
        """Disable a routing rule."""
        return self._send(Call("POST", at("routing-rules", rule_id, "disable"), body={}))
