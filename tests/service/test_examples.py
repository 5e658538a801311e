"""The curl commands that the API reference shows as examples. Each runs against a whole server."""

import json
import subprocess
from pathlib import Path
from typing import Any

import trio

from api.docs_page.operations import curl
from api.docs_page.shapes import with_words
from api.openapi import words
from api.table import openapi_json
from storage.database.bridge import Bridge
from tests.service.receiver import Receiver
from tests.service.test_endpoints import OPERATIONS, World, open_world

DOCUMENT: dict[str, Any] = with_words(json.loads(openapi_json()))
# The ids in the document's examples, each with the kind of its object. The test replaces each id by the
# id of an existing object of this kind.
IDS = {
    words.DELIVERY: "deliveries",
    words.DESTINATION: "destinations",
    words.EVENT: "events",
    words.FILE: "files",
    words.RULE: "routing-rules",
    words.SCRIPT: "transform-scripts",
}
STATUS = "-o /dev/null -w '%{http_code}\\n'"
# Options of curl for a stream, which never ends. The test reads only the first line, which has the
# status. Then the test closes the pipe, and curl ends because it cannot write.
FIRST_LINE = "-N -D - "


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    ]


async def example(world: World, method: str, path: str, operation: dict[str, Any]) -> str:
    shown = path
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            shown = shown.replace(f"{{{parameter['name']}}}", str(parameter["example"]))
    route = OPERATIONS[f"{method.upper()} {path}"]
    target = await world.shelf.path(route, world.owner, fresh=True)
    command = curl(method, path, operation)
    assert f"$URL{shown}" in command
    command = command.replace(f"$URL{shown}", f"$URL{target}", 1)
    for identifier, kind in IDS.items():
        command = command.replace(identifier, await world.shelf.kept(world.owner, kind))
    streams = any(
        "text/event-stream" in answer.get("content", {})
        for answer in operation["responses"].values()
    )
    if streams:
        return command.replace("curl ", f"curl {FIRST_LINE}", 1) + " | head -n 1 | cut -d ' ' -f 2"
    return command.replace("curl ", f"curl {STATUS} ", 1)


async def test_each_example_of_the_reference_runs(
    bridge: Bridge, receiver: Receiver, tmp_path: Path
) -> None:
    asked = operations()
    async with open_world(bridge, receiver, tmp_path) as world:
        host, port = world.house.door.address
        key, session = (
            world.callers[name]._headers["Authorization"].removeprefix("Bearer ")
            for name in ("api", "browser")
        )
        lines = [f"URL=http://{host}:{port} KEY={key} SESSION={session}"]
        lines += [await example(world, *operation) for operation in asked]
        done = await trio.run_process(
            ["bash", "-c", "\n".join(lines)], capture_stdout=True, stderr=subprocess.DEVNULL
        )
    statuses = done.stdout.decode().split()
    wrong = [
        f"{method} {path}: {status}"
        for (method, path, operation), status in zip(asked, statuses, strict=True)
        if status not in operation["responses"] or status >= "400"
    ]
    assert not wrong
