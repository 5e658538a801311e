"""The CORS protocol of Fetch: the pages that can call the API, and the headers of answers to them.

Nothing here awaits.
"""

from collections.abc import Iterable, Mapping

from engine.model.read_models import Models

Headers = list[tuple[bytes, bytes]]

# The headers that a page can send besides those that CORS always allows.
ALLOWED = (
    b"authorization, content-type, idempotency-key, if-none-match, x-environment, x-request-id"
)
# The headers that a page can read besides those that CORS always allows.
EXPOSED = b"retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id"
# The time for which a browser caches the answer to a preflight. Pages of a removed origin cannot read
# answers even within this time, because these answers have no CORS headers.
MAX_AGE_S = 600
METHOD = b"access-control-request-method"


def foreign_origin(fields: Mapping[bytes, bytes]) -> bytes | None:
    """Return the Origin of a request. Return None if the request has no Origin, or if its page comes from
    this server's own address: browsers can send an Origin for such a page too."""
    origin = fields.get(b"origin")
    if origin is None or origin.partition(b"://")[2] == fields.get(b"host", b"").lower() != b"":
        return None
    return origin


class Cors:
    """The CORS headers of answers."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def headers(
        self,
        method: bytes,
        fields: Mapping[bytes, bytes],
        status: int,
        own: Iterable[tuple[bytes, bytes]],
    ) -> Headers:
        """Return the CORS headers for an answer. The list is empty if the request has no Origin, or if no
        workspace lists the Origin. For every request, the lists of all workspaces count, because a
        preflight has no credential that would tell its workspace. If a request has a credential,
        `api.admission` compares a foreign Origin with the list of the credential's own workspace.

        `fields`: the request's headers, with names in lower case. `own`: the other headers of the answer.
        If the request is a preflight and `status` is 204, the methods in the header Allow of `own` become
        the allowed methods.
        """
        origin = fields.get(b"origin")
        if origin is None or not self._models.is_listed(origin):
            return []
        # An answer without CORS headers needs no header Vary, because no cache stores this answer.
        found = [(b"access-control-allow-origin", origin), (b"vary", b"origin")]
        if method != b"OPTIONS" or METHOD not in fields or status != 204:
            return [*found, (b"access-control-expose-headers", EXPOSED)]
        methods = next((value for name, value in own if name.lower() == b"allow"), b"")
        return [
            *found,
            (b"access-control-allow-methods", methods),
            (b"access-control-allow-headers", ALLOWED),
            (b"access-control-max-age", b"%d" % MAX_AGE_S),
        ]
