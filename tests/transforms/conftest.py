"""Fixtures for the tests of transforms."""

import pytest

from tests.transforms.house import note_former


@pytest.fixture(autouse=True)
def only_its_own_children() -> None:
    note_former()
