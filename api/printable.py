"""Untrusted text for a terminal: the text cannot move the cursor or change the direction of writing."""


def printable(text: str) -> str:
    """Return text with its unprintable characters escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def printable_lines(text: str) -> str:
    """Return text of several lines with its unprintable characters escaped."""
    return "\n".join(map(printable, text.split("\n")))
