"""Patterns of event types as regular expressions: what the router and its index are held to."""

import re


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of an event type pattern.

    A `*` stands for one segment between dots, at the end for one or more; `*` alone is everything
    but the service's own `angarium.` types.
    """
    if pattern == "*":
        return re.compile(r"(?!angarium\.).+")
    segments = [r"[^.]+" if part == "*" else re.escape(part) for part in pattern.split(".")]
    if pattern.endswith(".*"):
        segments[-1] = r".+"
    own = "" if pattern.startswith("angarium.") else r"(?!angarium\.)"
    return re.compile(own + r"\.".join(segments))
