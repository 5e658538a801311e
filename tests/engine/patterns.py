"""A slow model of event type patterns: a regular expression for each pattern."""

import re


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A `*` matches one segment between dots, and one or more segments at the end. `*` alone matches
    all types except the service's own `angarium.` types."""
    if pattern == "*":
        return re.compile(r"(?!angarium\.).+")
    segments = [r"[^.]+" if part == "*" else re.escape(part) for part in pattern.split(".")]
    if pattern.endswith(".*"):
        segments[-1] = r".+"
    own = "" if pattern.startswith("angarium.") else r"(?!angarium\.)"
    return re.compile(own + r"\.".join(segments))
