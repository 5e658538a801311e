"""The decoder of percent-encoding in paths and query strings. It calls only functions written in C.

The standard library's decoder is a loop in Python, which needs one step for each `%`.
"""

import re
from binascii import a2b_qp

_NO_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def unescaped(raw: bytes) -> bytes:
    """Return `raw` decoded. A `%` that does not begin an escape stays."""
    if b"%" not in raw:
        return raw
    # `a2b_qp` decodes quoted-printable text, whose escapes begin with `=` instead of `%`. So first escape
    # each `=`, then replace each `%` by `=`.
    return a2b_qp(_NO_ESCAPE.sub(b"%25", raw).replace(b"=", b"%3D").replace(b"%", b"="))
