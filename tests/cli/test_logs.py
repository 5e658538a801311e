"""Logs: lines for people or machines, without secrets and payloads."""

import io
import json
import logging
from typing import Any

import pytest
import structlog

from api import logs


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def configured(log_format: str = "auto", level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    logs.configure(log_format, level, stream)
    return stream


def test_where_there_is_no_terminal_a_line_is_json_with_what_happened_first() -> None:
    stream = configured()
    structlog.get_logger("angarium.test").info("server.started", port=8080)
    (line,) = lines(stream)
    assert list(line)[:3] == ["timestamp", "level", "event"]
    assert line["event"] == "server.started"
    assert (line["port"], line["level"], line["logger"]) == (8080, "info", "angarium.test")
    assert line["timestamp"].endswith("Z")


def test_what_strangers_say_moves_no_cursor_and_makes_no_line_of_its_own() -> None:
    stream = configured("console")
    nasty = "a\x1b[2Jb\x9b\u202e\nserver started"
    structlog.get_logger("angarium.test").warning(nasty, name=nasty, other=[nasty])
    (line,) = stream.getvalue().splitlines()
    assert line.isprintable(), line


def test_the_standard_librarys_loggers_end_in_the_same_place() -> None:
    stream = configured()
    logging.getLogger("hypercorn.error").warning("lost %d", 3)
    (line,) = lines(stream)
    assert (line["event"], line["level"], line["logger"]) == (
        "lost 3",
        "warning",
        "hypercorn.error",
    )


def test_a_logger_made_before_follows_the_settings_too() -> None:
    log = structlog.get_logger("angarium.early")
    first = configured()
    log.info("one")
    second = configured()
    log.info("two")
    assert [line["event"] for line in lines(first)] == ["one"]
    assert [line["event"] for line in lines(second)] == ["two"]


def test_what_is_below_the_level_is_not_written() -> None:
    stream = configured(level="warning")
    structlog.get_logger().info("no")
    logging.getLogger("httpx").info("no")
    structlog.get_logger().error("yes")
    assert [line["event"] for line in lines(stream)] == ["yes"]


def test_libraries_that_log_once_a_request_are_quiet() -> None:
    stream = configured()
    logging.getLogger("httpx").info("HTTP Request: GET ...")
    assert stream.getvalue() == ""


def test_for_people_it_is_text() -> None:
    stream = configured("console")
    structlog.get_logger("angarium").warning("the database is away", since="now")
    assert "the database is away" in stream.getvalue()
    assert "{" not in stream.getvalue()


@pytest.mark.parametrize(
    "fields",
    [
        {"authorization": "Bearer ang_dev_abcdefgh"},
        {"secret": "x-marks-the-spot"},
        {"payload": b"x-marks-the-spot"},
        {"body": '{"a": "x-marks-the-spot"}'},
        {"database_url": "postgresql://u:x-marks-the-spot@h/d"},
        {"url": "postgresql://u:x-marks-the-spot@h/d"},
        {"error": "401 for ang_pro_x-marks-the-spot"},
        {"error": "whsec_x-marks-the-spot= refused"},
        {"error": "header Authorization: Bearer x-marks-the-spot"},
        {"error": "GET http://127.0.0.1/downloads/x-marks-the-spot broke"},
        {"master_key": "x-marks-the-spot"},
        {"data": b"x-marks-the-spot"},
        {"detail": ["ang_sta_x-marks-the-spot"]},
    ],
)
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_secrets_and_payloads_never_reach_a_line(log_format: str, fields: dict[str, Any]) -> None:
    stream = configured(log_format)
    structlog.get_logger().warning("something", **fields)
    logging.getLogger("library").warning("something %s", next(iter(fields.values())))
    written = stream.getvalue().splitlines()[0]
    assert "marks-the-spot" not in written
    assert "abcdefgh" not in written


def test_secrets_are_hidden_in_messages_and_tracebacks_too() -> None:
    stream = configured()
    url = "postgresql://u:marks@h/d with ang_dev_marksmarks"
    try:
        int(url)
    except ValueError:
        structlog.get_logger().exception("broke with whsec_marks=")
    assert "marks" not in stream.getvalue()
    assert "ValueError" in stream.getvalue()


def test_counts_are_shown_whatever_their_name() -> None:
    stream = configured()
    structlog.get_logger().info("limits", body_bytes=5, payload_bytes=7)
    (line,) = lines(stream)
    assert (line["body_bytes"], line["payload_bytes"]) == (5, 7)


def test_trouble_that_repeats_is_a_line_a_minute_for_each_subject() -> None:
    clock = [0.0]
    repeats = logs.Repeats(lambda: clock[0])

    def told(event: str, **fields: Any) -> dict[str, Any] | None:
        try:
            return dict(repeats(None, "warning", {"event": event, **fields}))
        except structlog.DropEvent:
            return None

    assert told("database.slow", purpose="intake") is not None
    assert told("database.slow", purpose="intake") is None
    assert told("database.slow", purpose="control") is not None
    assert told("spool.refused", folder="/spool") is not None
    assert told("server.started") == told("server.started")
    clock[0] = logs.MINUTE_S
    again = told("database.slow", purpose="intake")
    assert again is not None
    assert again["left_out"] == 1
    other = told("database.slow", purpose="control")
    assert other is not None
    assert "left_out" not in other


def test_a_dropped_repetition_writes_nothing() -> None:
    stream = configured()
    for _ in range(3):
        structlog.get_logger("angarium.test").warning("plan.limit_reached", workspace="w")
    assert [line["workspace"] for line in lines(stream)] == ["w"]
