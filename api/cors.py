"""Which pages in browsers may call, and what an answer to them must say: the CORS protocol of Fetch.

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
# How long a browser need not ask again: twice a session. An origin that is taken off the list
# is refused at once all the same, since the request itself is judged as well.
MAX_AGE_S = 600
METHOD = b"access-control-request-method"


def foreign_origin(fields: Mapping[bytes, bytes]) -> bytes | None:
    """Return the Origin of a request that a page of another site makes.

    None for what no browser sent, and for pages of our own address, which are none of CORS's business:
    browsers name an Origin there too when they do more than look.
    """
    origin = fields.get(b"origin")
    if origin is None or origin.partition(b"://")[2] == fields.get(b"host", b"").lower() != b"":
        return None
    return origin


class Cors:
    """What answers say to browsers. Owner of nothing: it reads the models."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def headers(
        self,
        method: bytes,
        fields: Mapping[bytes, bytes],
        status: int,
        own: Iterable[tuple[bytes, bytes]],
    ) -> Headers:
        """Return what an answer must have besides its `own` headers: nothing, where no workspace lists
        the Origin. `fields` are those of the request, by their names in lower case.

        A preflight is an ordinary OPTIONS that says more: its methods are those of its Allow. Whose
        the page is cannot be known then, since it has no credential.
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
