"""The sender of an event stream with one event per line."""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from api.cli.errors import FAILED, refusal_text
from api.cli.remote.output import Output, note

if TYPE_CHECKING:
    from angarium import Client

MOST_EVENTS = 1_000  # the API's limit
MOST_BYTES = 4 * 1024 * 1024  # less than the API's 5 MiB: keys and brackets are added
KEY_BYTES = 64  # more than an added idempotency key needs
MOST_NAMED = 100  # rejected lines that are reported one by one


class Line(NamedTuple):
    """A line of the stream and its number."""

    number: int
    raw: bytes


class BatchTally:
    """The results of the lines."""

    def __init__(self) -> None:
        self.accepted = 0
        self.duplicates = 0
        self.rejected = 0

    def reject(self, line: Line, why: str) -> None:
        self.rejected += 1
        if self.rejected <= MOST_NAMED:
            note(f"line {line.number}: {why}")
        elif self.rejected == MOST_NAMED + 1:
            note("... further rejected lines are only counted")


def send_lines(
    client: "Client", lines: Iterable[bytes], output: Output, most: int = MOST_EVENTS
) -> None:
    """Send all lines. Raises AngariumError as soon as a request fails. If lines were rejected, raises
    Exit(1) after all lines were sent."""
    tally = BatchTally()
    try:
        for chunk in _chunks(_objects(lines, tally), most):
            _send(client, chunk, tally)
    finally:  # the events sent until an error are durable
        output.one(
            {
                "accepted": tally.accepted,
                "duplicates": tally.duplicates,
                "rejected": tally.rejected,
            }
        )
    if tally.rejected:
        raise click.exceptions.Exit(FAILED)


def _objects(lines: Iterable[bytes], tally: BatchTally) -> Iterator[Line]:
    for number, raw in enumerate(lines, 1):
        line = Line(number, raw.strip())
        if not line.raw:
            continue
        try:
            if not isinstance(json.loads(line.raw), dict):
                raise ValueError("the line is not a JSON object")  # noqa: TRY004, TRY301 - one way out
        except ValueError as error:
            tally.reject(line, f"not JSON: {error}")
        else:
            yield line


def _chunks(lines: Iterable[Line], most: int) -> Iterator[list[Line]]:
    chunk: list[Line] = []
    size = 0
    for line in lines:
        if chunk and size + len(line.raw) > MOST_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(line)
        size += len(line.raw) + KEY_BYTES
        if len(chunk) == most:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _send(client: "Client", chunk: list[Line], tally: BatchTally) -> None:
    from angarium import InvalidRequestError

    try:
        answer = client.events.send_batch([line.raw for line in chunk])
    except InvalidRequestError as error:
        # The server refuses a whole batch if no event in the batch is valid, or if the server cannot
        # parse the batch. Then all lines of the batch count as rejected.
        for line in chunk:
            path = f"events[{line.number - chunk[0].number}]"
            own = [d.message for d in error.details if d.path.startswith(path)]
            tally.reject(line, "; ".join(own) or refusal_text(error))
        return
    tally.accepted += answer["accepted"]
    tally.duplicates += answer["duplicates"]
    for entry in answer["results"]:
        refusal = entry["error"]
        if refusal is not None:
            tally.reject(chunk[entry["index"]], f"{refusal['message']} ({refusal['code']})")
