# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.events`."""

from collections.abc import Iterator
from typing import Unpack

from angarium.calls import PAGE, Call, at, query_of
from angarium.filters import EventFilter
from angarium.shapes import DeliveryItem, Event, EventExplanation, EventItem, Page
from angarium.sync.resource import Resource, follow_pages


class Events(Resource):
    """Events: send them one by one or in batches, and read them afterwards."""

    def list(
        self, *, limit: int | None = None, cursor: str | None = None, **chosen: Unpack[EventFilter]
    ) -> Page[EventItem]:
        """List events: one page.

        The list includes events that no rule matched. If the search stopped early, the page
        has `searchedTo`: the search has examined all events after this time. An embed session
        sees its customer's events, with only the deliveries to its customer's destinations.
        """
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/events", query))

    def iterate(self, **chosen: Unpack[EventFilter]) -> Iterator[EventItem]:
        """List events: all pages.

        The list includes events that no rule matched. If the search stopped early, the page
        has `searchedTo`: the search has examined all events after this time. An embed session
        sees its customer's events, with only the deliveries to its customer's destinations.
        """
        return follow_pages(self._send, "/events", {**chosen, "limit": PAGE})

    def get(self, event_id: str) -> Event:
        """Show an event.

        `payload` and `metadata` have the same bytes as in the request. Each of the
        `attachments` has the `source` FILE with the id of a file, whatever source the request
        gave.
        """
        return self._send(Call("GET", at("events", event_id)))

    def erase(self, event_id: str) -> Event:
        """Erase an event's content.

        Erases payload, metadata, attachments and files of the event, and the receivers'
        answers and script output of its deliveries. The event, its deliveries and all
        counters stay: `payload` is null, and `erasedAt` is the time of erasure. Before that,
        waiting deliveries are cancelled and dead letters discarded. The event can never be
        replayed again. 503 while an attempt is in flight; then nothing is erased. Backups
        keep the content.
        """
        return self._send(Call("DELETE", at("events", event_id, "payload")))

    def explain(self, event_id: str) -> EventExplanation:
        """Show the receivers of an event, and the reasons.

        Judges the event by the present rules, rule by rule, with the values that filters
        read. Also lists the deliveries that were made when the event was accepted.
        `changedSince` marks the rules that were created or changed after the event.
        """
        return self._send(Call("GET", at("events", event_id, "explain")))

    def deliveries(self, event_id: str) -> Iterator[DeliveryItem]:
        """List an event's deliveries: all pages."""
        return follow_pages(self._send, at("events", event_id, "deliveries"), {})
