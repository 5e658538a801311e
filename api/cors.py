"""The CORS protocol of Fetch: the pages in browsers that can call, and the headers of answers to them.

Both lanes ask here, for every request that has an Origin. Nothing here awaits.
"""

from collections.abc import Iterable, Mapping

from engine.model.read_models import Models

Headers = list[tuple[bytes, bytes]]

# What a page may send besides what every page may.
ALLOWED = (
    b"authorization, content-type, idempotency-key, if-none-match, x-environment, x-request-id"
)
# What a page may read of an answer besides what every page may.
EXPOSED = b"retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id"
# How long a browser caches a preflight: twice a session. An origin that leaves the list is refused at
# once all the same, since the request itself is judged as well.
MAX_AGE_S = 600
METHOD = b"access-control-request-method"


def foreign_origin(fields: Mapping[bytes, bytes]) -> bytes | None:
    """Return the Origin of a request that another site's page makes.

    None for a request that no browser sent, and for pages of our own address, which need no CORS:
    browsers send an Origin from those too if the request is more than a read.
    """
    origin = fields.get(b"origin")
    if origin is None or origin.partition(b"://")[2] == fields.get(b"host", b"").lower() != b"":
        return None
    return origin


class Cors:
    """The headers of answers to browsers. It owns nothing: it reads the models."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def headers(
        self,
        method: bytes,
        fields: Mapping[bytes, bytes],
        status: int,
        own: Iterable[tuple[bytes, bytes]],
    ) -> Headers:
        """Return the headers that an answer needs besides its `own`: none if no workspace lists the
        Origin. `fields` are those of the request, by their names in lower case.

        A preflight is an ordinary OPTIONS with more headers: its methods are those of its Allow. It has
        no credential, so the workspace of the page is not known.
        """
        origin = fields.get(b"origin")
        if origin is None or not self._models.is_listed(origin):
            return []
        # Others get answers that say nothing of this, and need no Vary: none of ours may be kept.
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
