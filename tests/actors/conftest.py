"""Fixtures for the actors' tests."""

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def logs() -> Iterator[list[structlog.typing.EventDict]]:
    """The logged events. They are not printed, because many tests crash actors on purpose, and the
    tracebacks of these crashes take long to format."""
    with structlog.testing.capture_logs() as captured:
        yield captured
