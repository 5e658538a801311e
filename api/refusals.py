"""The refusals of a request's head and body that control plane and ingestion share."""

from engine.model.errors import Refusal

OVERLOADED_RETRY_S = 1  # bodies are answered within a second or so, and then there is room again


def other_environment(own: str) -> Refusal:
    """Return the refusal of a request that names another environment than its key's, which is `own`."""
    return Refusal("forbidden", f"this key belongs to {own}")


def encoded() -> Refusal:
    """Return the refusal of a body with a Content-Encoding."""
    return Refusal("unsupported_media_type", "the body must not have a Content-Encoding")


def wrong_type(*types: str) -> Refusal:
    """Return the refusal of a body that is of none of these media types."""
    return Refusal("unsupported_media_type", f"the body must be {' or '.join(types)}")


def too_large(limit: int) -> Refusal:
    """Return the refusal of a body of more than `limit` bytes."""
    return Refusal("payload_too_large", f"the body is larger than {limit} bytes")


def no_room() -> Refusal:
    """Return the refusal of a body that the budgets have no room for."""
    return Refusal(
        "overloaded", "too many request bodies at once", retry_after_s=OVERLOADED_RETRY_S
    )


def body_late() -> Refusal:
    """Return the refusal of a body that did not arrive in time."""
    return Refusal("request_timeout", "the body did not arrive in time")
