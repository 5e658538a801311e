"""The TypeScript client under Deno and Bun: the same cases as under Node.js."""

from pathlib import Path

import pytest

from tests.clients.drivers import Open, script_driver
from tests.clients.runtimes import COMMANDS, RUNTIMES
from tests.clients.test_conformance import (
    house,
    module,
    receiver,
    tenant,
    test_a_genuine_webhook_is_told_from_a_forged_one,
    test_a_refusal_names_its_places,
    test_an_address_where_nobody_listens_is_a_failed_connection,
    test_an_answer_of_somebody_else_is_unexpected,
    test_calls_are_repeated_where_that_is_safe,
    test_events_are_sent_once_alone_and_in_batches,
    test_what_is_made_is_listed_changed_and_archived,
)

__all__ = [
    "house",
    "module",
    "receiver",
    "tenant",
    "test_a_genuine_webhook_is_told_from_a_forged_one",
    "test_a_refusal_names_its_places",
    "test_an_address_where_nobody_listens_is_a_failed_connection",
    "test_an_answer_of_somebody_else_is_unexpected",
    "test_calls_are_repeated_where_that_is_safe",
    "test_events_are_sent_once_alone_and_in_batches",
    "test_what_is_made_is_listed_changed_and_archived",
]


@pytest.fixture(params=COMMANDS)
def opened(request: pytest.FixtureRequest, module: Path) -> Open:
    """Open the TypeScript client under one runtime. Skip the test if no package has this runtime for this
    system, even on CI.
    """
    if not RUNTIMES.installed():
        pytest.skip("Deno and Bun are missing: make tools")
    try:
        command = COMMANDS[request.param](module.parent)
    except StopIteration:
        pytest.skip(f"there is no {request.param} for this system")
    return script_driver(module, *command)
