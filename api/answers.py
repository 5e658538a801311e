"""The parts of a control-plane answer that the door and the application share.

Nothing here knows the framework or the framing of HTTP.
"""

from collections.abc import Iterable

from api.call import Answer
from api.envelope import CHALLENGE, envelope
from engine.model.errors import Refusal

# The content policy of HTML answers: a page loads nothing, sends no forms, and cannot be shown in a
# frame. `default-src` does not cover `frame-ancestors`, `base-uri` and `form-action`, so they are stated
# too.
PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'"
)


def headers_of(answer: Answer) -> list[tuple[str, str]]:
    """Return an answer's headers, except its length, the request's id and the rate headers."""
    # Caches must not store answers, because answers can contain secrets and soon become outdated.
    headers = {
        "Content-Type": answer.content_type,
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    if answer.content_type.startswith("text/html"):
        headers["Content-Security-Policy"] = PAGE_POLICY
        headers["X-Frame-Options"] = "DENY"  # for browsers without `frame-ancestors`
        headers["Referrer-Policy"] = "no-referrer"
    if answer.retry_after_s is not None:
        headers["Retry-After"] = str(answer.retry_after_s)
    headers.update(answer.headers)
    return list(headers.items())


def refused(refusal: Refusal, request_id: str) -> Answer:
    """Return the answer for a refusal."""
    body = envelope(refusal.code, refusal.message, request_id, refusal.details)
    headers = (("WWW-Authenticate", CHALLENGE),) if refusal.status == 401 else ()
    return Answer(refusal.status, body=body, retry_after_s=refusal.retry_after_s, headers=headers)


def no_such_path(request_id: str) -> Answer:
    """Return the answer to a path that no route has."""
    return refused(Refusal("not_found", "no such path"), request_id)


def not_allowed(method: str, allowed: Iterable[str], request_id: str) -> Answer:
    """Return the answer (405) to a request for a path that has routes, but no route with this method."""
    refusal = Refusal("method_not_allowed", f"{method} is not allowed here")
    answer = refused(refusal, request_id)
    return Answer(answer.status, body=answer.body, headers=(("Allow", ", ".join(sorted(allowed))),))
