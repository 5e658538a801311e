"""Distributions of latencies. During a run, latencies are appended to an array. After the run, the array
is converted to an HdrHistogram in microseconds.

To append a latency to an array takes 0.03 us; to record it in an HdrHistogram takes 1.6 us.
"""

import zlib
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Any

from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

from bench.results import Latency

HIGHEST_US = 3_600_000_000  # an hour: more than any wait of a run
DIGITS = 3  # for an error of a thousandth; the difference between two runs is larger
_SUB_BUCKET_BITS = 11  # of 2 * 10^DIGITS values; each smaller value has its own bucket
_PERCENTILES = {50.0: "P50Ms", 90.0: "P90Ms", 95.0: "P95Ms", 99.0: "P99Ms", 99.9: "P999Ms"}


def in_seconds() -> "array[float]":
    """Return an empty array for latencies."""
    return array("d")


def histogram(values_s: Iterable[float]) -> Any:
    """Return the HdrHistogram of values in seconds. Negative values (after a change of the clock) count
    as 0."""
    buckets: Counter[int] = Counter()
    highest = 0
    for value in values_s:
        micros = int(value * 1e6 + 0.5)
        if micros >> _SUB_BUCKET_BITS:
            if micros < 0:
                micros = 0
            elif micros > highest:
                highest = micros
            shift = max(0, micros.bit_length() - _SUB_BUCKET_BITS)
            micros = micros >> shift << shift  # the lowest value of the bucket
        buckets[micros] += 1
    found = HdrHistogram(1, HIGHEST_US, DIGITS)
    for micros, count in buckets.items():
        found.record_value(min(micros, HIGHEST_US), count)
    found.max_value = max(found.max_value, min(highest, HIGHEST_US))
    return found


def encoded(found: Any) -> str:
    """Return the V2 format of an HdrHistogram as base64."""
    return str(found.encode().decode())


def decoded(text: str) -> Any:
    """Return the HdrHistogram of its V2 format. Raises ValueError."""
    try:
        return HdrHistogram.decode(text)
    except (ValueError, TypeError, HdrCookieException, HdrLengthException, zlib.error) as error:
        raise ValueError(f"not an HdrHistogram in its V2 format: {error}") from None


def merged(texts: Iterable[str]) -> Any:
    """Return the sum of several HdrHistograms."""
    whole = HdrHistogram(1, HIGHEST_US, DIGITS)
    for text in texts:
        whole.add(decoded(text))
    return whole


def latency(found: Any) -> Latency:
    """Return an HdrHistogram in the form of the results."""
    at = _milliseconds(found)
    return Latency(
        count=found.get_total_count(),
        p50_ms=at[50.0],
        p90_ms=at[90.0],
        p99_ms=at[99.0],
        p999_ms=at[99.9],
        max_ms=found.get_max_value() / 1000,
        encoded=encoded(found),
    )


def latency_figures(found: Any, prefix: str = "") -> dict[str, float | None]:
    """Return percentiles as figures, `<prefix>P50Ms` or `p50Ms` and so on; None if there are no
    values."""
    at = _milliseconds(found)
    figures: dict[str, float | None] = {name: at[each] for each, name in _PERCENTILES.items()}
    figures["MaxMs"] = found.get_max_value() / 1000
    if not found.get_total_count():
        figures = dict.fromkeys(figures)
    return {
        prefix + name if prefix else name[0].lower() + name[1:]: value
        for name, value in figures.items()
    }


def _milliseconds(found: Any) -> dict[float, float]:
    if not found.get_total_count():
        return dict.fromkeys(_PERCENTILES, 0.0)
    at = found.get_percentile_to_value_dict(list(_PERCENTILES))
    return {each: at[each] / 1000 for each in _PERCENTILES}
