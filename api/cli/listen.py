"""`angarium listen PORT`: a receiver that prints and verifies what comes, for trying things out."""

import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import click
import trio

from angarium import VerificationError, verify
from api.cli.errors import Trouble
from api.cli.printing import say
from api.cli.receiver import ReceivedRequest, ReceiverReply, listen, port_of, receive

SHOWN_BODY = 2_000  # characters: a terminal's worth
FAILURE = 500

HELP = """Receive webhooks on PORT and print each: its event, attempt, signature and body.

With a secret (whsec_... or a public key whpk_...) every signature is verified; what is not genuine is
answered with 400, as a real receiver should. --secret-file is read anew for each webhook, so that the
destination may be created after this was started. Stop it with Ctrl-C.

Angarium sends to this machine only when ANGARIUM_EGRESS_ALLOW names its network (`make run` does).
"""


@dataclass(slots=True)
class LocalListener:
    """What the receiver was told to do, and how many webhooks it has had."""

    secrets: tuple[str, ...] = ()
    secret_file: Path | None = None
    status: int = 200
    failures_left: int = 0
    delay_s: float = 0.0
    seen: set[str] = field(default_factory=set)
    count: int = 0

    async def respond(self, request: ReceivedRequest) -> ReceiverReply:
        """Print a request and choose its answer."""
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
        """Return what to say of a request's signature, and whether to accept it."""
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
        """Return what is printed of one request."""
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
@click.argument("port", type=click.IntRange(0, 65_535))
@click.option("--secret", "secrets", multiple=True, help="Secret to verify with; may be repeated.")
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
def command(
    port: int,
    secrets: tuple[str, ...],
    secret_file: Path | None,
    status: int,
    failures: int,
    delay_ms: int,
    host: str,
) -> None:
    """Receive until Ctrl-C."""
    listener = LocalListener(secrets, secret_file, status, failures, delay_ms / 1000)
    trio.run(_run, listener, host, port)


async def _run(listener: LocalListener, host: str, port: int) -> None:
    try:
        sockets = await listen(host, port)
    except OSError as error:
        raise Trouble(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    say(f"Listening on http://{host}:{port_of(sockets)}/ (Ctrl-C stops)")
    await receive(sockets, listener.respond)


def _readable(body: bytes) -> str:
    try:
        text = json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        text = body.decode("utf-8", "backslashreplace")
    # Control characters of a stranger's body do not reach the terminal.
    text = "".join(c if c == "\n" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return text if len(text) <= SHOWN_BODY else text[:SHOWN_BODY] + f" ... ({len(body)} bytes)"
