"""The operator's plans and settings. Each text is either refused with a reason, or read as plans with
values within bounds."""

import os
import tempfile
from pathlib import Path

from pydantic import ValidationError

from engine.plans.file import MOST, MOST_DAYS, PlansFileError, read_plans
from engine.settings import Settings
from tests.fuzz.door import Door

FOLDER = Path(tempfile.gettempdir())
TEXTS = ("bind", "egress_allow", "template_hosts", "public_url", "portal_url", "file_store")


def check(data: bytes) -> None:
    path = FOLDER / f"angarium-fuzz-{os.getpid()}.toml"
    path.write_bytes(data)
    try:
        for plan in read_plans(path).values():
            counts = (plan.control_per_minute, plan.ingest_per_minute, plan.transforms)
            assert all(type(count) is int and 0 <= count <= MOST for count in counts)
            assert 1 <= plan.retention_days <= MOST_DAYS
    except PlansFileError as error:
        assert str(path) in str(error)
    finally:
        path.unlink()
    text = data.decode("utf-8", "replace")
    for name in TEXTS:
        try:
            settings = Settings.model_validate({name: text})
        except ValidationError:
            continue
        host, port = settings.address
        assert 0 <= port <= 65_535
        assert isinstance(host, str)


DOOR = Door(
    "plans",
    check,
    ("engine.plans.file", "engine.settings", "tomllib"),
    (
        b"[plans.free]\ndestinations = 5\n",
        b"[plans.enterprise]\ncontrol_per_minute = 60000\ningest_per_minute = 1\ntransforms = 0\n"
        b"destinations = 1\nretention_days = 90\n",
        b"[::1]:8080",
        b"10.0.0.0/8, fd00::/8",
        b"slack=proxy.internal:8443",
        b"https://files.example.com/x",
        b"s3://bucket/prefix?region=eu",
    ),
    (
        b"[plans.", b"]", b"= ", b"9" * 50, b"1_0", b"0x10", b"inf", b"nan", b"1.0", b"true", b"[[[[",
        b"{", b'"', b"'''", b"\\ud800", b"\xd9\xa3", b":", b"*", b"/", b"1979-05-27",
    ),
    largest=2_048,
)  # fmt: skip
