"""Fixtures for the actors' tests."""

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def logs() -> Iterator[list[structlog.typing.EventDict]]:
    """The logged events. They are not printed, because tracebacks of tests' crashes format slowly."""
    with structlog.testing.capture_logs() as captured:
        yield captured
