"""The projection of committed configuration: if an actor raises when it gets a new version, it gets that
version again."""

import pytest
from msgspec import structs

from engine.control.projection import ModelProjection
from engine.core.destination import Destination
from engine.core.vocabulary import Environment
from engine.model.read_models import EnvironmentModel, Models, WorkspaceModel
from engine.templates.catalog import read_catalog
from tests.sim.conformance.destinations import destination_record


def test_a_version_whose_actor_raised_is_passed_with_the_next_notification() -> None:
    models = Models()
    environment = EnvironmentModel(1, "w", Environment.DEVELOPMENT)
    models.put_workspace(WorkspaceModel("w", "w", "free"), [environment])
    passed: list[int] = []

    def configure(destination: Destination) -> None:
        passed.append(destination.version)
        if passed == [1, 2]:
            raise RuntimeError

    projection = ModelProjection(models, configure, read_catalog())
    first = destination_record("d", environment=1, updated_at_ms=1)
    second = structs.replace(first, version=2, url="https://moved.example/")
    projection.destination(first)
    with pytest.raises(RuntimeError):
        projection.destination(second)
    for _ in range(2):
        projection.destination(second)
    assert passed == [1, 2, 2]
    assert models.destinations["d"].url == "https://moved.example/"
