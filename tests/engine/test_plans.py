"""Plans: the built-in plans, the plans that a file defines, and the plan that applies to a workspace."""

from pathlib import Path

import pytest
import structlog

from engine.core.vocabulary import Environment
from engine.model.read_models import EnvironmentModel, Models, WorkspaceModel
from engine.plans.file import PlansFileError, plans_of, read_plans
from engine.plans.plans import BUILT_IN, DAY_MS, Plans, Visibility
from engine.settings import Settings

OWN = """
[plans.free]
destinations = 5

[plans.enterprise]
control_per_minute = 60_000
ingest_per_minute = 100_000_000
transforms = 5_000
destinations = 1_000_000
retention_days = 90
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plans.toml"


def models_with(**plans: str) -> Models:
    models = Models()
    for number, (name, plan) in enumerate(plans.items(), 1):
        environment = EnvironmentModel(number, name, Environment.DEVELOPMENT)
        models.put_workspace(WorkspaceModel(name, name, plan), [environment])
    return models


def test_the_built_in_plans_are_those_of_the_contract() -> None:
    assert {
        plan.name: (plan.control_per_minute, plan.ingest_per_minute, plan.transforms)
        for plan in BUILT_IN.values()
    } == {
        "free": (120, 6_000, 0),
        "pro": (1_200, 600_000, 10),
        "scale": (12_000, 60_000_000, 1_000),
    }
    assert {name: plan.rules for name, plan in BUILT_IN.items()} == {
        "free": 200,
        "pro": 20_000,
        "scale": 1_000_000,
    }
    for plan in BUILT_IN.values():
        quotas = (plan.customer_destinations, plan.customer_rules, plan.customer_transforms)
        assert quotas == (20, 100, 20)
        assert plan.customer_per_minute >= 120


def test_a_file_changes_what_it_names_and_adds_others(path: Path) -> None:
    path.write_text(OWN)
    plans = read_plans(path)
    assert set(plans) == {"free", "pro", "scale", "enterprise"}
    assert plans["free"].destinations == 5
    assert plans["free"].control_per_minute == BUILT_IN["free"].control_per_minute
    assert plans["pro"] == BUILT_IN["pro"]
    assert (plans["enterprise"].name, plans["enterprise"].retention_days) == ("enterprise", 90)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[plans.free]\ndestination = 1", "plans.free.destination:"),
        ("[plans.free]\ndestinations = -1", "plans.free.destinations:"),
        ("[plans.free]\ndestinations = '5'", "plans.free.destinations:"),
        ("[plans.free]\ndestinations = 1.5", "plans.free.destinations:"),
        ("[plans.free]\ndestinations = true", "plans.free.destinations:"),
        ("[plans.pro]\ncontrol_per_minute = 0", "plans.pro.control_per_minute:"),
        ("[plans.pro]\nretention_days = 0", "plans.pro.retention_days:"),
        ("[plans.mine]\ndestinations = 1", "plans.mine.control_per_minute:"),
        ("[plans.'Big Plan']\ndestinations = 1", "plans.Big Plan:"),
        ("[plan.free]\ndestinations = 1", "plan:"),
        ("plans = 3", "plans:"),
        ("", "plans:"),
        ("[plans.free", "']'"),
        (b"\xff", "utf-8"),
        (None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_its_name_and_the_field(
    path: Path, text: str | bytes | None, named: str
) -> None:
    if isinstance(text, bytes):
        path.write_bytes(text)
    elif text is not None:
        path.write_text(text)
    with pytest.raises(PlansFileError) as refused:
        read_plans(path)
    assert str(path) in str(refused.value)
    assert named in str(refused.value)


def test_settings_override_what_all_plans_say(path: Path) -> None:
    path.write_text(OWN)
    plans = plans_of(Settings(plans_file=path, control_rate_limit=7, retention_days=3))
    assert {plan.control_per_minute for plan in plans.values()} == {7}
    assert {plan.retention_days for plan in plans.values()} == {3}
    assert plans["enterprise"].ingest_per_minute == 100_000_000


def test_a_workspace_whose_plan_is_gone_acts_by_the_least_one_and_that_is_logged_once() -> None:
    models = models_with(acme="enterprise", other="pro")
    plans = Plans(models)
    with structlog.testing.capture_logs() as logs:
        assert plans.of("acme").name == "free"
        assert plans.of("acme").name == "free"
        assert plans.of("other").name == "pro"
    (told,) = logs
    assert (told["event"], told["workspace"], told["plan"]) == (
        "plan.unknown",
        "acme",
        "enterprise",
    )
    assert plans.of("unheard of").name == "free"


def test_the_log_is_kept_for_the_longest_plan_and_shown_for_ones_own() -> None:
    plans = Plans(models_with(acme="free", other="scale"))
    visibility = Visibility(plans, lambda: 1_700_000_000.0)
    now_ms = 1_700_000_000_000
    assert visibility.floor_ms(1) == now_ms - BUILT_IN["free"].retention_days * DAY_MS
    assert visibility.floor_ms(2) == now_ms - BUILT_IN["scale"].retention_days * DAY_MS
    assert plans.longest_retention_days == BUILT_IN["scale"].retention_days
