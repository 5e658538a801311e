"""Fixtures for the actors' tests."""

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def logs() -> Iterator[list[structlog.typing.EventDict]]:
    """The logged events. Nothing is printed, since tracebacks of planned crashes are slow to format."""
    with structlog.testing.capture_logs() as captured:
        yield captured
