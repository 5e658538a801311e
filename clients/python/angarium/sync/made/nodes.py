# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.nodes`."""

from collections.abc import Iterator

from angarium.calls import Call, at, query_of
from angarium.shapes import Node, Page, Success
from angarium.sync.resource import Resource, follow_pages


class Nodes(Resource):
    """The present state of destinations and environments, and their counters."""

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Node]:
        """List the servers of this installation: one page.

        Sorted by name. The list shows what the answering server knows. The call needs a key
        of scope `manage` of the installation's first workspace. Each part of the workspaces
        has one ACTIVE server, which does the work of the part. A STANDBY of the part takes
        over if the ACTIVE server fails.
        """
        query = query_of({"limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/observability/nodes", query))

    def iterate(self) -> Iterator[Node]:
        """List the servers of this installation: all pages.

        Sorted by name. The list shows what the answering server knows. The call needs a key
        of scope `manage` of the installation's first workspace. Each part of the workspaces
        has one ACTIVE server, which does the work of the part. A STANDBY of the part takes
        over if the ACTIVE server fails.
        """
        return follow_pages(self._send, "/observability/nodes", {})

    def drain(self, machine: str) -> Success:
        """Drain a machine.

        Other machines take the parts of this machine over within seconds. The machine gets no
        parts until the drain ends, also after a restart. It still relays its clients'
        requests, and keeps its parts while no other machine can take them.
        """
        return self._send(Call("POST", at("observability", "nodes", machine, "drain"), body={}))

    def undrain(self, machine: str) -> Success:
        """End the drain of a machine.

        The machine gets its share of the parts within seconds.
        """
        return self._send(Call("POST", at("observability", "nodes", machine, "undrain"), body={}))
