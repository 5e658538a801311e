"""Conditions on dead deliveries that no index serves: what a filter leaves to the rows."""

from collections.abc import Collection
from typing import Any

from engine.log.delivery_log import DeliveryFilter

# Of what deliveries died: numbers in the text differ. `escape` has a text for any bytes.
SIGNATURE = """md5(concat_ws('|', destination, coalesce(error_category::text, '-'),
    coalesce(response_status::text, '-'),
    regexp_replace(encode(substring(coalesce(last_error, ''::bytea) FROM 1 FOR 200), 'escape'),
        '[0-9]+', '#', 'g')))"""
_CONDITIONS = {
    "destinations": "destination = ANY({value}::uuid[])",
    "customers": "customer = ANY({value}::text[])",
    "event_types": "event_type = ANY({value}::text[])",
    "error_categories": "error_category = ANY({value}::smallint[])",
    "signatures": SIGNATURE + " = ANY({value}::text[])",
    "dead_from_ms": "dead_lettered_at_ms >= {value}::bigint",
    "dead_to_ms": "dead_lettered_at_ms < {value}::bigint",
}


def left_to_rows(which: DeliveryFilter, served: Collection[str]) -> dict[str, Any]:
    """Return the values of a filter's conditions by name, but for those that an index has `served`."""
    given = {name: getattr(which, name) for name in _CONDITIONS if name not in served}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value is not None
    }


def conditions(names: Collection[str], first: int) -> str:
    """Return the text of conditions, whose values are the parameters from `first` on."""
    return "".join(
        " AND " + _CONDITIONS[name].format(value=f"${place}")
        for place, name in enumerate(names, first)
    )
