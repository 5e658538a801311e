"""A background task counts the entries of dead-letter queues, and metrics show these sizes."""

import pytest

from api.metrics import dead_letters
from api.metrics.dead_letters import DeadLetterCount
from api.metrics.scrape import Scrape
from engine.plans.plans import Visibility
from storage.log.troubles import PostgresTroubles
from tests.api.house import Caller
from tests.service.house import ServiceHouse
from tests.service.receiver import Receiver
from tests.service.test_dlq import dead


async def test_dead_letters_are_counted_by_environment(
    house: ServiceHouse, api: Caller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "PAUSE_S", 0.0)
    server = house.server
    visibility = Visibility(server.plans, server.clock.now)
    troubles = PostgresTroubles(server.bridge.pool)
    counted = DeadLetterCount(server.models, server.part, visibility, troubles)
    scrape = Scrape(server, {}, counted.sizes)
    _, (first, _) = await dead(house, api, receiver, 2)
    await counted.count()
    ((labels, size),) = scrape.dead_letters  # the workspace's other environments had no work
    assert (labels[1], size) == ("DEVELOPMENT", 2)
    assert (await api("POST", "/dlq/discard", {"deliveryIds": [first]})).status == 200
    await counted.count()
    assert list(scrape.dead_letters) == [(labels, 1)]
    monkeypatch.setattr(dead_letters, "MOST", 0)
    await counted.count()
    # The environment now has its own labels.
    assert list(scrape.dead_letters) == [(labels, 0)]
