"""The start of tracing: settings and OpenTelemetry's variables, refused values, and failing exports."""

import subprocess
import sys

import pytest

from api.composition.failures import EXIT_SETTINGS, known_failure
from engine.core.vocabulary import Environment
from engine.model.errors import Refusal
from engine.model.read_models import EnvironmentModel
from engine.settings import MIB, Settings
from engine.tracing import open_telemetry, opening
from engine.tracing.export_queue import ExportStatistics
from engine.tracing.open_telemetry import resource_of
from engine.tracing.opening import TracingError, check_tracing, open_tracing, request_span
from engine.tracing.tracer import Tracer
from tests.collector import open_collector
from tests.engine.test_export_queue import Exporter
from tests.patience import HANGS_S

ON = Settings(traces_sample=1.0)


def test_a_server_without_traces_loads_none_of_the_libraries() -> None:
    said = (
        "import sys, api.composition; print([m for m in sys.modules if 'opentelemetry.sdk' in m])"
    )
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    check_tracing(Settings())
    assert open_tracing(Settings(), "n", lambda: 1.0, lambda _: None) is None


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
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://collector:4317"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "many"),
    ],
)
def test_a_wrong_variable_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    check_tracing(ON)
    monkeypatch.setenv(name, value)
    with pytest.raises(TracingError):
        check_tracing(ON)


@pytest.mark.parametrize("given", ["a=1,S3cret", "a=b%0d%0aS3cret"])
def test_a_wrong_header_is_refused_without_its_value(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, given: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic a==, b=2,")
    check_tracing(ON)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", given)
    with pytest.raises(TracingError, match="OTEL_EXPORTER_OTLP_HEADERS") as refused:
        check_tracing(ON)
    assert "S3cret" not in str(refused.value)
    assert "S3cret" not in caplog.text


def test_a_request_goes_on_without_a_span_that_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_telemetry, "otlp_exporter", Exporter)

    def broken(*_args: object) -> None:
        raise RuntimeError("the library broke")

    monkeypatch.setattr(Tracer, "accept", broken)
    tracing = open_tracing(ON, "n", lambda: 1.0, lambda _: None)
    environment = EnvironmentModel(1, "w", Environment.DEVELOPMENT)
    with request_span(tracing, "a trace", environment, "/files") as trace:
        assert trace == "a trace"
    assert tracing is not None
    tracing.queue.close(HANGS_S)


@pytest.mark.parametrize("status", [301, 429, 500])
def test_a_collector_that_does_not_take_spans_has_them_counted_as_failed(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    with open_collector() as collector:
        collector.status = status
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")  # too short for a retry
        assert exported_one().failed == 1


def test_a_huge_answer_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_collector() as collector:
        collector.answer_bytes = 64 * MIB
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        assert exported_one().exported == 1
        assert collector.cut.wait(HANGS_S)


def exported_one() -> ExportStatistics:
    tracing = open_tracing(ON, "n", lambda: 1.0, lambda _: None)
    assert tracing is not None
    with request_span(tracing, None, EnvironmentModel(1, "w", Environment.DEVELOPMENT), "/files"):
        pass
    tracing.queue.close(HANGS_S)
    return tracing.queue.statistics()


def test_the_sdk_can_be_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert open_tracing(ON, "n", lambda: 1.0, lambda _: None) is None


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
    tracing = open_tracing(ON, "n", lambda: 1.0, lambda _: None)
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
