"""Fixtures of a whole server within the test's process, as tests/service has them."""

from tests.service.conftest import api, house, neighbour, receiver, tenant

__all__ = ["api", "house", "neighbour", "receiver", "tenant"]
