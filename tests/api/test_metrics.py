"""The list of metrics: the generated files are current, and queries use existing names."""

import re
from collections import Counter

import pytest

from api.metrics.alerts import ALERTS
from api.metrics.declared import METRICS
from api.metrics.files import ROOT, files, query_of
from api.metrics.reading import buckets_of
from engine.core.counters import BUCKETS, latency_bucket
from engine.model.identity import created_at_ms
from engine.recording.measures import Histogram, Measured

SERIES = {each.series for each in METRICS}
HELD = sorted(str(path.relative_to(ROOT)) for path in files())


@pytest.mark.parametrize("name", HELD)
def test_files_are_those_that_the_list_makes(name: str) -> None:
    """`python -m api.metrics` writes the files."""
    assert (ROOT / name).read_text() == files()[ROOT / name]


def test_names_are_unique_and_have_help() -> None:
    assert len(SERIES) == len(METRICS)
    assert all(re.fullmatch("angarium_[a-z0-9_]+", each.name) for each in METRICS)
    assert all(each.help.endswith(".") for each in METRICS)


def test_queries_name_metrics_that_exist() -> None:
    queries = [alert.when for alert in ALERTS]
    queries += [query for each in METRICS for query, _ in query_of(each)]
    for query in queries:
        assert set(re.findall("angarium_[a-z0-9_]+", query)) <= SERIES, query


def test_buckets_are_cumulated_and_in_seconds() -> None:
    found = Histogram()
    for duration_ms in (0, 1, 5, 900, 10**9):
        found.buckets[latency_bucket(duration_ms)] += 1
    buckets = dict(buckets_of(found))
    assert buckets["0.001"] == 2
    assert list(buckets.values()) == sorted(buckets.values())
    assert buckets["+Inf"] == 5


def test_what_was_measured_adds_up() -> None:
    total, group = Measured(), Measured({7: Counter({None: 2})}, Counter({7: 1}))
    group.durations = Histogram([1] + [0] * (BUCKETS - 1), 3)
    total.add(group)
    total.add(group)
    assert total.results == {7: Counter({None: 4})}
    assert total.dead == Counter({7: 2})
    assert (sum(total.durations.buckets), total.durations.sum_ms) == (2, 6)
    assert Measured().results == {}


def test_an_id_tells_when_its_event_was_accepted() -> None:
    assert created_at_ms("01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10") == 0x01939B2E7D4C
