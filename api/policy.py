"""The permissions that a workspace gives its customers. Only this module applies them. Nothing here
awaits."""

from collections.abc import Mapping
from typing import Any

from api.call import Answer
from api.routes import Route
from engine.model.errors import Detail, Refusal
from engine.model.quotas import Ability, WorkspaceSettings


def check_route(route: Route, settings: WorkspaceSettings) -> None:
    """Raises Refusal 403 if customers can never make this request, whatever its body contains.

    A request needs the ability (permission) of its route. `settings` has the abilities that the workspace
    gives its customers.
    """
    if route.ability is None or settings.allows(route.ability):
        return
    if route.method == "PATCH" and any(map(settings.allows, route.field_abilities.values())):
        return  # `check_fields` decides by the body's fields
    raise _refusal(route.ability)


def check_fields(route: Route, settings: WorkspaceSettings, document: Mapping[str, Any]) -> None:
    """Raises Refusal 403 if a field of the body needs an ability (permission) that the workspace has not
    given its customers.

    A field in `field_abilities` needs its own ability. In a PATCH, every other field needs the route's
    ability. A PATCH without fields needs the route's ability too. For other methods, `check_route` has
    already checked the route's ability.
    """
    patch = route.method == "PATCH"
    asked = [name for name, value in document.items() if _is_asked(value, patch=patch)]
    for name in asked:
        ability = route.field_abilities.get(name)
        if ability is not None and not settings.allows(ability):
            raise _refusal(ability, name)
    if patch and route.ability is not None and not settings.allows(route.ability):
        for name in asked:
            if name not in route.field_abilities:
                raise _refusal(route.ability, name)
        if not asked:
            raise _refusal(route.ability)


def withheld(route: Route, settings: WorkspaceSettings, answer: Answer) -> Answer:
    """Return an answer in which fields hidden from customers are null."""
    if route.withheld and not settings.allows(Ability.VIEW_PAYLOADS):
        for path in route.withheld:
            _withhold(answer.document, path.split("."))
    return answer


def _withhold(value: Any, path: list[str]) -> None:
    if isinstance(value, list):
        for item in value:
            _withhold(item, path)
    elif isinstance(value, dict):
        first, *rest = path
        if rest:
            _withhold(value[first], rest)
        else:
            value[first] = None


def _is_asked(value: object, *, patch: bool) -> bool:
    """Return True if setting a field to this value needs a permission. An empty object or false never
    needs a permission. Null needs a permission only in a change (`patch`), because it removes a value."""
    return value != {} and value is not False and (patch or value is not None)


def _refusal(ability: Ability, field: str = "") -> Refusal:
    message = f"the workspace does not allow this to its customers: {ability.value}"
    if not field:
        return Refusal("forbidden", message)
    return Refusal("forbidden", f"{field}: {message}", (Detail(field, message),))
