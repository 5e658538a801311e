"""The logging of the process: one line for each incident, as text or JSON, without secrets.

Only the level `debug` has lines for single webhook events. A repeated incident is logged once a minute
(`ONCE_A_MINUTE`).
"""

import logging
import re
import sys
import time
from collections.abc import Callable, MutableMapping
from functools import partial
from typing import Any, TextIO

import structlog

from api.printable import printable, printable_lines

# If code logs a field with one of these names by mistake, the field's value is replaced in the log.
_SECRET_NAMES = re.compile(
    r"authorization|cookie|secret|password|token|payload|body|master_?key|private_?key|api_?key|"
    r"database_?url|dsn|signature",
    re.IGNORECASE,
)
# The texts that are replaced in the log: Angarium's keys and secrets, bearer tokens, and the tokens of
# download URLs.
_SECRET_SHAPES = re.compile(
    r"(ang_(?:dev|sta|pro)_|angmk_|anges_|whsec_|whsk_|Bearer\s+|/downloads/)[A-Za-z0-9+/=_.\-]{4,}",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(://[^\s:/@]*:)[^\s/@]+@")
_HIDDEN = "***"
# These log events could repeat with every statement or request. Each name of a log event has the name of
# a field beside it. Events with the same name and the same value of that field are logged at most once a
# minute.
ONCE_A_MINUTE = {
    "database.slow": "purpose",
    "spool.refused": "folder",
    "plan.limit_reached": "workspace",
    "traces.not_exported": "exporter",
    "traces.span_broke": "step",
}
MINUTE_S = 60.0
SUBJECTS = 1_000  # values of these fields; with more, an event can be logged twice within a minute

_OF_LINES = ("exception", "stack")  # values with several lines

# Loggers that write several lines of INFO for one incident.
_CHATTY = ("httpx", "httpcore", "hypercorn.access", "asyncio", "quart.app", "mcp")


def configure(
    log_format: str, log_level: str, stream: TextIO | None = None, *, worker: str | None = None
) -> None:
    """Send all logs to `stream`. `log_format` is `console`, `json`, or `auto`: `console` if `stream` is a
    terminal, otherwise `json`.

    Several worker processes can write to one log, so every line has `worker` as a field.
    """
    out = stream or sys.stderr
    as_json = log_format == "json" or (log_format == "auto" and not out.isatty())
    level = getattr(logging, log_level.upper())
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.StackInfoRenderer(),
    ]
    if worker is not None:
        shared.append(partial(_naming, worker))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            Repeats(),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,  # module-level loggers must follow a later configure()
    )
    handler = logging.StreamHandler(out)
    # JSON escapes control characters itself.
    fitting = [] if as_json else [fit_for_a_terminal]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                without_secrets,
                what_happened_first,
                *fitting,
                _renderer(as_json, out),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    logging.captureWarnings(True)
    # The errors of `logging` itself could print secrets.
    logging.raiseExceptions = False


class Repeats:
    """A structlog processor that logs each incident of `ONCE_A_MINUTE` at most once a minute."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lines: dict[tuple[str, object], list[float]] = {}  # when written, how many dropped

    def __call__(
        self, logger: Any, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        field = ONCE_A_MINUTE.get(event["event"])
        if field is None:
            return event
        now, subject = self._now(), (event["event"], event.get(field))
        line = self._lines.get(subject)
        if line is not None and now - line[0] < MINUTE_S:
            line[1] += 1
            raise structlog.DropEvent
        if line is not None and line[1]:
            event["left_out"] = int(line[1])
        if len(self._lines) >= SUBJECTS:
            self._lines.clear()
        self._lines[subject] = [now, 0]
        return event


def _naming(
    worker: str, logger: Any, method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    event.setdefault("worker", worker)
    return event


def without_secrets(
    logger: Any, method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Hide secrets and payloads: a value is hidden if its field's name belongs to a secret or a payload,
    or if the value looks like a secret. Bytes are always hidden."""
    for name, value in event.items():
        if name != "event" and _SECRET_NAMES.search(name) and not isinstance(value, (int, float)):
            event[name] = _HIDDEN
        elif isinstance(value, bytes):
            event[name] = f"<{len(value)} bytes>"
        elif isinstance(value, str):
            event[name] = hidden(value)
        elif not isinstance(value, (int, float, type(None))):
            event[name] = hidden(str(value))
    return event


def what_happened_first(
    logger: Any, method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Put time, level and event first."""
    head = {name: event[name] for name in ("timestamp", "level", "event") if name in event}
    return {**head, **event}


def fit_for_a_terminal(
    logger: Any, method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Escape characters that would move the terminal's cursor or break the line."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = (printable_lines if name in _OF_LINES else printable)(value)
    return event


def hidden(text: str) -> str:
    """Return a text with everything that looks like a secret replaced."""
    return _URL_PASSWORD.sub(rf"\1{_HIDDEN}@", _SECRET_SHAPES.sub(rf"\1{_HIDDEN}", text))


def _renderer(as_json: bool, out: TextIO) -> structlog.types.Processor:
    if as_json:
        return structlog.processors.JSONRenderer(sort_keys=False)
    return structlog.dev.ConsoleRenderer(colors=out.isatty(), pad_event_to=30)
