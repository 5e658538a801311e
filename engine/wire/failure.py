"""A failure on the way to an answer: a category that customers filter by, and a plain sentence."""

import errno

from engine.core.vocabulary import ErrorCategory

_WORDS = {
    errno.ECONNREFUSED: "the connection was refused",
    errno.ECONNRESET: "the connection was reset",
    errno.EPIPE: "the connection was reset",
    errno.ECONNABORTED: "the connection was aborted",
    errno.EHOSTUNREACH: "the host is unreachable",
    errno.ENETUNREACH: "the network is unreachable",
    errno.ETIMEDOUT: "the connection timed out",
    errno.EADDRNOTAVAIL: "no local port is free",
}


class WireError(Exception):
    """An attempt cannot go on."""

    def __init__(self, category: ErrorCategory, message: str) -> None:
        super().__init__(message)
        self.category = category
        self.message = message


def connection_error(error: OSError | None) -> WireError:
    """Say in words what the system said; None is an end without an error."""
    if error is None:
        return WireError(ErrorCategory.CONNECTION, "the connection was closed before an answer")
    # An error that is not listed is named by its symbol: its text could carry an address.
    symbol = errno.errorcode.get(error.errno or 0, "unknown")
    words = _WORDS.get(error.errno or 0) or f"the connection failed ({symbol})"
    return WireError(ErrorCategory.CONNECTION, words)
