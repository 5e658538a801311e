"""`angarium listen PORT`: a receiver that prints and verifies incoming webhooks, for experiments."""

import json
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import trio

from angarium import VerificationError, verify
from api.cli.errors import Trouble
from api.cli.printing import say
from api.cli.receiver import ReceivedRequest, ReceiverReply, listen, port_of, receive
from api.cli.remote.session import Session, maybe_over_http

if TYPE_CHECKING:
    from angarium import Client
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from angarium import Client


ABOUT = "made by `angarium listen`, which archives it when it ends"
# Delays before retries, in seconds. They are short, because a user is watching.
RETRIES = [1, 5, 30]


class Borrowed(NamedTuple):
    """The command's own destination, and the secret that verifies its webhooks."""

    id: str
    secret: str


def borrow(open_client: Callable[[], "Client"], url: str, patterns: Sequence[str]) -> Borrowed:
    """Create a destination and a rule. If the rule cannot be created, archive the destination.

    Raises AngariumError.
    """
    from angarium import AngariumError

    with open_client() as client:
        made = client.destinations.create(
            f"listen {url}", url, description=ABOUT, delivery={"retrySchedule": RETRIES}
        )
        borrowed = Borrowed(made["id"], made["secret"] or "")
        try:
            client.routing_rules.create("listen", borrowed.id, list(patterns))
        except AngariumError:
            client.destinations.archive(borrowed.id)
            raise
    return borrowed


def give_back(open_client: Callable[[], "Client"], borrowed: Borrowed) -> None:
    """Archive the destination. The server then deletes the destination's rule. Raises AngariumError."""
    with open_client() as client:
        client.destinations.archive(borrowed.id)


SHOWN_BODY = 2_000  # characters, about one screen
FAILURE = 500
# Ctrl-C, a process manager and a closed terminal send these signals.
SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

HELP = """Receive webhooks on PORT and print each: its event, attempt, signature and body.

With --events 'order.*' the command creates a destination with a rule for itself. It verifies every
signature with the destination's secret. At the end, also after Ctrl-C, it archives the destination.
With --events you can leave out PORT, and you need a key of scope manage.

With a secret (whsec_... or a public key whpk_...) the command verifies every signature, and answers 400
to a wrong one, as a real receiver should. It reads --secret-file for each webhook, so you can create
the destination after the start of the command. Stop it with Ctrl-C.

Angarium sends to this machine only if ANGARIUM_EGRESS_ALLOW names its network (`make run` does).
"""


@dataclass(slots=True)
class LocalListener:
    """The options of the receiver, and its count of webhooks."""

    secrets: tuple[str, ...] = ()
    secret_file: Path | None = None
    status: int = 200
    failures_left: int = 0
    delay_s: float = 0.0
    seen: set[str] = field(default_factory=set)
    count: int = 0

    async def respond(self, request: ReceivedRequest) -> ReceiverReply:
        self.count += 1
        verdict, genuine = self.judge(request)
        status = self.status
        if not genuine:
            status = 400
        elif self.failures_left > 0:
            self.failures_left -= 1
            status = FAILURE
        for line in self.lines(request, verdict, status):
            say(line)
        return ReceiverReply(status, b'{"received":true}' if status < 300 else b"", self.delay_s)

    def judge(self, request: ReceivedRequest) -> tuple[str, bool]:
        """Return a text about the signature, and whether to accept the request. If no secret is known,
        every request is accepted."""
        secrets = list(self.secrets)
        if self.secret_file is not None and self.secret_file.exists():
            secrets += self.secret_file.read_text().split()
        if not secrets:
            return "signature not verified (no secret given)", True
        try:
            verify(request.body, request.headers, secrets)
        except VerificationError as error:
            return f"signature REFUSED: {error}", False
        except ValueError as error:
            return f"signature not verified: {error}", False
        return "signature verified", True

    def lines(self, request: ReceivedRequest, verdict: str, status: int) -> list[str]:
        headers = request.headers
        message_id = headers.get("webhook-id", "-")
        again = " (seen before)" if message_id in self.seen else ""
        if message_id != "-":
            self.seen.add(message_id)
        now = datetime.fromtimestamp(time.time(), tz=UTC)
        return [
            f"{now:%H:%M:%S}  {request.method} {request.target}  answered {status}",
            f"  event {message_id}{again}, attempt {headers.get('angarium-attempt', '-')}, {verdict}",
            *("  " + line for line in _readable(request.body).splitlines()),
            "",
        ]


@click.command("listen", help=HELP, short_help="Print and verify webhooks on a port.")
@click.argument("port", type=click.IntRange(0, 65_535), required=False)
@click.option(
    "--events", "patterns", multiple=True, metavar="PATTERN",
    help="Deliver events of these types here; can be repeated.",
)  # fmt: skip
@click.option(
    "--address", metavar="URL",
    help="With --events: the address at which the server reaches this port. [http://HOST:PORT/]",
)  # fmt: skip
@click.option("--secret", "secrets", multiple=True, help="Secret to verify with; can be repeated.")
@click.option(
    "--secret-file", type=click.Path(path_type=Path, dir_okay=False), help="File with secrets."
)
@click.option(
    "--status", type=click.IntRange(200, 599), default=200, help="Status to answer. [200]"
)
@click.option(
    "--fail",
    "failures",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help=f"Answer {FAILURE} to the first N.",
)
@click.option(
    "--delay-ms", type=click.IntRange(0, 600_000), default=0, help="Wait before answering."
)
@click.option("--host", default="127.0.0.1", help="Address to listen on. [127.0.0.1]")
@maybe_over_http
def command(
    session: Callable[[], Session],
    port: int | None,
    patterns: tuple[str, ...],
    address: str | None,
    secrets: tuple[str, ...],
    secret_file: Path | None,
    status: int,
    failures: int,
    delay_ms: int,
    host: str,
) -> None:
    listener = LocalListener(secrets, secret_file, status, failures, delay_ms / 1000)
    if patterns:
        trio.run(_run_borrowing, listener, host, port or 0, address, patterns, session().client)
    elif port is None:
        raise click.UsageError("give a PORT, or --events")
    elif address is not None:
        raise click.UsageError("--address goes with --events")
    else:
        trio.run(_run, listener, host, port)


async def _listen(host: str, port: int) -> Sequence[trio.SocketListener]:
    try:
        return await listen(host, port)
    except OSError as error:
        raise Trouble(f"cannot listen on {host}:{port}: {error.strerror or error}") from None


async def _run(listener: LocalListener, host: str, port: int) -> None:
    sockets = await _listen(host, port)
    say(f"Listening on http://{host}:{port_of(sockets)}/ (Ctrl-C stops)")
    await receive(sockets, listener.respond)


async def _run_borrowing(
    listener: LocalListener,
    host: str,
    port: int,
    address: str | None,
    patterns: Sequence[str],
    open_client: Callable[[], "Client"],
) -> None:
    sockets = await _listen(host, port)
    url = address or f"http://{host}:{port_of(sockets)}/"
    with trio.open_signal_receiver(*SIGNALS) as signals, trio.CancelScope() as everything:
        borrowed = await trio.to_thread.run_sync(borrow, open_client, url, patterns)
        listener.secrets = (*listener.secrets, borrowed.secret)
        try:
            say(f"Listening for {', '.join(patterns)} on {url} (Ctrl-C stops)")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(receive, sockets, listener.respond)
                async for _ in signals:
                    everything.cancel()
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(_give_back, open_client, borrowed)


def _give_back(open_client: Callable[[], "Client"], borrowed: Borrowed) -> None:
    from angarium import AngariumError

    try:
        give_back(open_client, borrowed)
    except AngariumError as error:
        raise Trouble(
            f"the destination could not be removed: {error}. Remove it with"
            f" `angarium destinations delete {borrowed.id} --yes`"
        ) from None
    say("The destination and its rule are removed.")


def _readable(body: bytes) -> str:
    try:
        text = json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        text = body.decode("utf-8", "backslashreplace")
    # Control characters of the body must not reach the terminal.
    text = "".join(c if c == "\n" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return text if len(text) <= SHOWN_BODY else text[:SHOWN_BODY] + f" ... ({len(body)} bytes)"
