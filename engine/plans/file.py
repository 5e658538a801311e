"""The operator's plans: a TOML file that changes the built-in plans and adds others, checked strictly.

[plans.free]
destinations = 5            # this plan's other limits stay as they are built in

[plans.enterprise]          # a new plan must set all fields, except those in `LATER` (below)
control_per_minute = 60000
...
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from msgspec import structs
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from engine.plans.plans import BUILT_IN, FIRST, Plan, overridden
from engine.runtime.toml_file import read
from engine.settings import Settings

# The longest retention: ten years. The earliest day of the log that is shown is the present day minus the
# retention. If the retention were longer and the server's clock some years slow, this day would be before
# 1970.
MOST_DAYS = 3_650
MOST = 1_000_000_000  # of anything that is counted; it must fit an integer column
# Fields that a new plan can omit, because files of earlier releases lack them. The plan then has the
# value of the built-in plan `scale`.
LATER: Mapping[str, int] = MappingProxyType(
    {
        name: getattr(BUILT_IN[FIRST], name)
        for name in (
            "rules",
            "customer_destinations",
            "customer_rules",
            "customer_transforms",
            "customer_per_minute",
        )
    }
)

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
Count = Annotated[int, Field(strict=True, ge=0, le=MOST)]
Rate = Annotated[int, Field(strict=True, ge=1, le=MOST)]
Days = Annotated[int, Field(strict=True, ge=1, le=MOST_DAYS)]


class PlansFileError(Exception):
    """A file that cannot be used; the message names the file and the field."""


class _Entry(BaseModel):
    """One plan, as the file has it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    control_per_minute: Rate | None = None
    ingest_per_minute: Rate | None = None
    transforms: Count | None = None
    destinations: Count | None = None
    rules: Count | None = None
    retention_days: Days | None = None
    customer_destinations: Count | None = None
    customer_rules: Count | None = None
    customer_transforms: Count | None = None
    customer_per_minute: Rate | None = None


class _PlansFile(BaseModel):
    """The file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    plans: dict[Name, _Entry]


def plans_of(settings: Settings) -> Mapping[str, Plan]:
    """Return all plans, with the changes of the plans file and of the settings. Raises PlansFileError."""
    plans = BUILT_IN if settings.plans_file is None else read_plans(settings.plans_file)
    return overridden(
        plans,
        settings.control_rate_limit,
        settings.ingest_rate_limit,
        settings.retention_days,
    )


def read_plans(path: Path) -> Mapping[str, Plan]:
    """Return the built-in plans with a file's changes, and the plans that the file adds. Raises
    PlansFileError."""
    try:
        given = read(path, _PlansFile)
    except ValueError as error:
        raise PlansFileError(f"{path}: {error}") from error
    plans = dict(BUILT_IN)
    for name, entry in given.plans.items():
        plans[name] = _plan(path, name, entry)
    return plans


def _plan(path: Path, name: str, entry: _Entry) -> Plan:
    fields = entry.model_dump(exclude_none=True)
    known = BUILT_IN.get(name)
    if known is not None:
        return structs.replace(known, **fields)
    for field in _Entry.model_fields:
        if field not in fields and field not in LATER:
            raise PlansFileError(f"{path}: plans.{name}.{field}: is required of a plan of your own")
    return Plan(name=name, **{**LATER, **fields})
