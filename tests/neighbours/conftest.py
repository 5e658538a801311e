"""Fixtures with a whole server: see `tests.service.conftest`."""

from tests.service.conftest import api, house, neighbour, receiver, tenant

__all__ = ["api", "house", "neighbour", "receiver", "tenant"]
