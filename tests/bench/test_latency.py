"""Histograms: their percentiles agree to a thousandth with the percentiles of the recorded values, and
other tools can read the histograms.
"""

import random

import pytest

from bench.latency import HIGHEST_US, decoded, encoded, histogram, latency, latency_figures, merged

CHANCE = random.Random(3)
SHAPES = {
    "log-normal": [CHANCE.lognormvariate(-6, 1.5) for _ in range(4_000)],
    "even": [number / 1e5 for number in range(1, 4_001)],
    "heavy": [0.0005 * CHANCE.paretovariate(1.1) for _ in range(4_000)],
    "small": [
        number / 1e6 for number in range(2_060)
    ],  # each in its own bucket, and the first that shares one
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("percentile", [50.0, 90.0, 99.0, 99.9])
def test_a_percentile_is_that_of_the_sorted_list(shape: str, percentile: float) -> None:
    values = sorted(SHAPES[shape])
    at = values[round(percentile / 100 * len(values)) - 1]
    assert histogram(values).get_value_at_percentile(percentile) == pytest.approx(
        at * 1e6, rel=1.1e-3, abs=1
    )


def test_whole_buckets_are_recorded_as_the_library_records_values() -> None:
    ones = histogram(SHAPES["heavy"])
    others = histogram([])
    for value in SHAPES["heavy"]:
        others.record_value(int(value * 1e6 + 0.5))
    assert ones.equals(others)
    assert ones.get_max_value() == others.get_max_value()


def test_an_encoded_one_is_the_same_when_it_is_read() -> None:
    found = histogram(SHAPES["log-normal"])
    assert latency(decoded(encoded(found))) == latency(found)
    # Version 2, deflated: other tools look for this prefix.
    assert latency(found).encoded.startswith("HISTFAAA")


def test_merging_adds() -> None:
    both = merged([encoded(histogram([0.001] * 3)), encoded(histogram([0.1]))])
    assert both.get_total_count() == 4
    assert both.get_value_at_percentile(75.0) == 1_000
    assert both.get_max_value() == pytest.approx(100_000, rel=1e-3)


def test_a_clock_that_was_set_and_an_endless_wait_are_bounded() -> None:
    found = histogram([-5.0, 1e9])
    assert found.get_min_value() == 0
    assert found.get_max_value() == pytest.approx(HIGHEST_US, rel=1e-3)
    assert found.get_total_count() == 2


def test_figures_are_named_and_nothing_is_none() -> None:
    assert latency_figures(histogram([0.002]), "ack")["ackP999Ms"] == 2.0
    assert latency_figures(histogram([0.002]))["p50Ms"] == 2.0
    assert set(latency_figures(histogram([])).values()) == {None}
    assert latency(histogram([])).max_ms == 0


@pytest.mark.parametrize("text", ["", "x", "HISTFAAA", "aGVsbG8gd29ybGQhIQ=="])
def test_what_is_no_histogram_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an HdrHistogram"):
        decoded(text)
