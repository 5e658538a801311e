# Made of the API's routes by `python -m api.generation`; do not edit.
"""The handwritten method of the live stream, which reads server-sent events."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from angarium.calls import query_of
from angarium.shapes import JsonObject
from angarium.sync.made.observability import Observability as Made


class Observability(Made):
    """The analytics and counts of an environment, and the live stream of its deliveries."""

    def stream(
        self,
        *topics: str,
        destination_id: str | None = None,
        customer_external_id: str | None = None,
    ) -> Iterator[tuple[str, JsonObject]]:
        """Yield pairs of a topic and its data, until the server ends the stream.

        The topics are throughput, health, deliveries, replays and dlq. Without topics, the stream has all
        that the key can read.
        """
        query: dict[str, Any] = query_of(
            {
                "topics": ",".join(topics) or None,
                "destination_id": destination_id,
                "customer_external_id": customer_external_id,
            }
        )
        held = b""
        for piece in self._read("/stream?" + urlencode(query)):
            *events, held = (held + piece).split(b"\n\n")
            for event in events:
                fields = dict(line.split(b": ", 1) for line in event.split(b"\n") if b": " in line)
                if b"event" in fields and b"data" in fields:
                    yield fields[b"event"].decode(), json.loads(fields[b"data"])
