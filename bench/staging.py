"""The set-up of a declared scenario: servers, a receiver, and destinations with their rules.

The name of an event type contains the scenario and the group. Therefore several scenarios can share a
server, and each destination gets only the events of its own scenario.
"""

from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import msgspec

from bench.crowding import Crowd, crowd
from bench.declared import Declaration, Group, Receivers, Variant
from bench.filling import Filled, fill
from bench.resting import recorded, resting
from bench.scenario import Serve
from bench.service import Receiver, Service

# `fill` spreads its deliveries over one hour before the run. They are therefore in the same daily
# partition as the deliveries of the run, unless a day (UTC) ends in between.
FILL_DAYS = 1 / 24
FIRST_ENVIRONMENT = 1  # of the first workspace, to which the server's key belongs
ASKED_ONE_BY_ONE = 20  # destinations; for more, one request asks about the whole environment


class Stage:
    """The servers and the receiver of a declared scenario. Variants share a server if they `fill` its
    database with the same number of deliveries."""

    def __init__(self, name: str, declared: Declaration, serve: Serve) -> None:
        self._name = name
        self._declared = declared
        self._serve = serve
        self._stack = ExitStack()
        self._services: dict[int, Service] = {}
        self._crowds: dict[tuple[int, str], Crowd] = {}  # by filled rows and group
        self._ids: dict[tuple[int, str], list[str]] = {}

    def __enter__(self) -> Self:
        try:
            self._build()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._bury()
        finally:
            self._stack.close()

    def _bury(self) -> None:
        """Delete the dead destinations. Otherwise the next scenario on the server would wait for their
        unsettled deliveries."""
        dead = {group.name for group in self._declared.groups if group.dead}
        for (number, name), ids in self._ids.items():
            for each in ids if name in dead else ():
                self._services[number].api("DELETE", f"/destinations/{each}")

    def _build(self) -> None:
        secure = any(group.scheme == "https" for group in self._declared.groups)
        self.receiver = self._stack.enter_context(Receiver(tls=secure))
        settings = {"SSL_CERT_FILE": self.receiver.authority} if secure else None
        for number in dict.fromkeys(each.fill for each in self._declared.variants):
            service = self._stack.enter_context(self._serve(settings))
            self._services[number] = service
            made = [each for group in self._declared.groups for each in self._made(number, group)]
            if any(group.customers for group in self._declared.groups):
                service.stop()
                service.start()
                resting(service, lambda: True)
            if number:
                workspace = service.api("GET", "/auth/context")["workspaceId"]
                filled = Filled(workspace, FIRST_ENVIRONMENT, made)
                fill(service.folder, filled, number, FILL_DAYS, log_alone=True)

    def _made(self, fill_number: int, group: Group) -> list[str]:
        """Create the destinations of a group. Return the IDs of the destinations in
        `FIRST_ENVIRONMENT`."""
        service = self._services[fill_number]
        if group.customers:
            url, kind = self._address(group, 0), self.event_type(group.name)
            first = service.destination(url, [kind], **group.delivery.document())
            made = crowd(service, first, self._address(group, -1), group.count)
            self._crowds[fill_number, group.name] = made
            return [first]
        self._ids[fill_number, group.name] = [
            service.destination(
                self._address(group, number),
                self._event_types(group, number),
                **group.delivery.document(),
            )
            for number in range(group.count)
        ]
        return self._ids[fill_number, group.name]

    def _event_types(self, group: Group, number: int) -> list[str]:
        found = []
        for name in (group.name, group.takes):
            if name:
                spread = not self._declared.group(name).fanout
                found.append(f"{self._stem(name)}.{number if spread else 0}")
        return found

    def _stem(self, group: str) -> str:
        return f"{self._name}.{group}"

    def event_type(self, group: str) -> str:
        """Return the event type of a group that has only one."""
        return f"{self._stem(group)}.0"

    def path(self, group: str) -> str:
        """Return the prefix of the paths of a group's destinations."""
        return f"/{self._name}/{group}/"

    def _address(self, group: Group, number: int) -> str:
        """Return the URL of the group's destination with this number. If the number is negative, return a
        pattern of the URLs with `{}` in the place of the number."""
        url = self.receiver.https if group.scheme == "https" else self.receiver.url
        return url + self.path(group.name) + ("{}" if number < 0 else str(number))

    # --- the parts of a variant's measurement

    def service(self, variant: Variant) -> Service:
        """Return the server of a variant."""
        return self._services[variant.fill]

    def behave(self, receivers: list[Receivers]) -> None:
        """Reset the receiver's counts and set its behaviour."""
        whole: dict[str, Any] = {}
        paths: dict[str, Any] = {}
        for each in receivers:
            document = msgspec.to_builtins(each.behaviour)
            if each.group:
                paths[self.path(each.group)] = document
            else:
                whole = document
        self.receiver.reset({**whole, "paths": paths})

    def plan(self, variant: Variant) -> dict[str, Any]:
        """Return a variant's plan for the generator, without `first`."""
        load = variant.load
        group = self._declared.group(load.to)
        plan: dict[str, Any] = {
            "events": load.number,
            "connections": load.connections,
            "batch": load.batch,
            "rate": load.rate,
            "lanes": load.lanes,
            "own_lanes": load.own_lanes,
            "sizes": [list(each) for each in load.sizes],
            "zipf": load.zipf,
            "hdr": True,
        }
        if group.customers:
            made = self._crowds[variant.fill, group.name]
            plan |= {"event_type": self.event_type(load.to), "lanes": group.count}
            plan |= {"keys": list(made.keys), "lanes_per_key": made.per_environment}
        elif group.fanout or group.count == 1:
            plan["event_type"] = self.event_type(load.to)
        else:
            plan |= {"types": group.count, "stem": self._stem(load.to)}
        return plan

    def recorded(self, variant: Variant) -> bool:
        """Return True if the outcomes of all deliveries of a variant are recorded. Deliveries to dead
        destinations do not count."""
        service, load = self.service(variant), variant.load
        living = [group for group in self._declared.takers(load.to) if not group.dead]
        for group in living:
            if group.customers:
                made = self._crowds[variant.fill, group.name]
                if not all(recorded(service, key) for key in made.keys):
                    return False
        ids = [each for group in living for each in self._ids.get((variant.fill, group.name), ())]
        if len(ids) > ASKED_ONE_BY_ONE:
            return recorded(service)
        return all(recorded(service, destination=each) for each in ids)
