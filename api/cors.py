"""The CORS protocol of Fetch: the pages that can call the API, and the headers of answers to them.

The door and the application use it for every request that has an Origin. Nothing here awaits.
"""

from collections.abc import Iterable, Mapping

from engine.model.read_models import Models

Headers = list[tuple[bytes, bytes]]

# The headers that a page of a listed origin can send, besides those that CORS allows to every page.
ALLOWED = (
    b"authorization, content-type, idempotency-key, if-none-match, x-environment, x-request-id"
)
# The headers of an answer that such a page can read, besides those that CORS allows to every page.
EXPOSED = b"retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id"
# The time for which a browser caches a preflight. A removed origin is refused at once nevertheless,
# because every request is judged.
MAX_AGE_S = 600
METHOD = b"access-control-request-method"


def foreign_origin(fields: Mapping[bytes, bytes]) -> bytes | None:
    """Return the Origin of a request that another site's page makes.

    None for a request without an Origin, and for pages from this server's own address, which need no
    CORS: browsers send an Origin from such pages too, unless the request only reads.
    """
    origin = fields.get(b"origin")
    if origin is None or origin.partition(b"://")[2] == fields.get(b"host", b"").lower() != b"":
        return None
    return origin


class Cors:
    """The CORS headers of answers. This class owns no state: it reads the models."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def headers(
        self,
        method: bytes,
        fields: Mapping[bytes, bytes],
        status: int,
        own: Iterable[tuple[bytes, bytes]],
    ) -> Headers:
        """Return the CORS headers for an answer with the headers `own`; none if no workspace lists the
        Origin. `fields` are those of the request, by their names in lower case.

        The answer to a preflight is the answer to any OPTIONS request, with further headers. Its allowed
        methods come from the header Allow in `own`. A preflight has no credential, so its workspace is
        not known: it is enough that any workspace lists the Origin.
        """
        origin = fields.get(b"origin")
        if origin is None or not self._models.is_listed(origin):
            return []
        # Other origins get answers without CORS headers. They need no Vary, because no answer can be
        # cached.
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
