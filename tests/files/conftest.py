"""Fixtures with a whole server within the test's process, as in tests/service."""

from tests.service.conftest import api, house, neighbour, receiver, tenant

__all__ = ["api", "house", "neighbour", "receiver", "tenant"]
