"""The set of all origins that at least one workspace allows, while workspaces change their lists."""

from engine.model.quotas import WorkspaceSettings
from engine.model.read_models import Models

A, B = "https://a.example", "https://b.example"


def listed(models: Models) -> list[str]:
    return [origin for origin in (A, B) if models.is_listed(origin.encode())]


def test_an_origin_is_listed_until_the_last_workspace_takes_it_off() -> None:
    models = Models()
    steps: list[tuple[str, tuple[str, ...], list[str]]] = [
        ("one", (A,), [A]),
        ("two", (A, B), [A, B]),
        ("one", (A,), [A, B]),
        ("one", (), [A, B]),
        ("two", (B,), [B]),
        ("two", (), []),
    ]
    for version, (workspace, origins, left) in enumerate(steps, 1):
        settings = WorkspaceSettings(workspace=workspace, version=version, origins=origins)
        models.put_settings(settings)
        models.put_settings(settings)  # as after a reload
        assert listed(models) == left
    models.put_settings(WorkspaceSettings(workspace="one", version=1, origins=(A,)))
    assert listed(models) == []  # an older version than the present one
    assert not models._listed  # no origin is left that no workspace lists
