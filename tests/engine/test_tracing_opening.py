"""The opening of traces by the settings and OpenTelemetry's variables, and what is refused."""

import subprocess
import sys

import pytest

from api.cli.failures import EXIT_SETTINGS, known_failure
from engine.core.vocabulary import Environment
from engine.model.errors import Refusal
from engine.model.read_models import EnvironmentModel
from engine.settings import Settings
from engine.tracing import open_telemetry, opening
from engine.tracing.open_telemetry import resource_of
from engine.tracing.opening import TracingError, check_tracing, open_tracing, request_span
from tests.engine.test_export_queue import Exporter

ON = Settings(traces_sample=1.0)


def test_a_server_without_traces_loads_none_of_the_libraries() -> None:
    said = (
        "import sys, api.composition; print([m for m in sys.modules if 'opentelemetry.sdk' in m])"
    )
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    check_tracing(Settings())
    assert open_tracing(Settings(), "n", lambda: 1.0) is None


def test_missing_libraries_are_a_wrong_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_LIBRARIES", ("opentelemetry.sdk", "opentelemetry.none.at.all"))
    with pytest.raises(TracingError, match=r"pip install 'angarium\[otel\]'") as refused:
        check_tracing(ON)
    known = known_failure(refused.value)
    assert known is not None
    assert known[1] == EXIT_SETTINGS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
    ],
)
def test_a_wrong_variable_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    check_tracing(ON)
    monkeypatch.setenv(name, value)
    with pytest.raises(TracingError):
        check_tracing(ON)


def test_the_sdk_can_be_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert open_tracing(ON, "n", lambda: 1.0) is None


def test_the_service_has_a_name_of_its_own_unless_one_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert resource_of("n").attributes["service.name"] == "angarium"
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=given,service.instance.id=mine")
    assert resource_of("n").attributes["service.name"] == "given"
    assert resource_of("n").attributes["service.instance.id"] == "mine"


def test_a_request_that_breaks_ends_its_span(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = Exporter()
    exporter.gate.set()
    monkeypatch.setattr(open_telemetry, "otlp_exporter", lambda: exporter)
    tracing = open_tracing(ON, "n", lambda: 1.0)
    assert tracing is not None
    environment = EnvironmentModel(1, "w", Environment.DEVELOPMENT)

    def broken(error: Exception) -> None:
        with request_span(tracing, None, environment, "/files") as trace:
            assert trace is not None
            raise error

    with pytest.raises(Refusal):
        broken(Refusal("invalid_request", "no"))
    with pytest.raises(RuntimeError):
        broken(RuntimeError("a fault"))
    tracing.queue.close(60.0)
    assert tracing.queue.statistics().exported == 2
