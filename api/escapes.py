"""Percent-encoding of paths and query strings, decoded by C functions alone.

The standard library decodes in a loop of Python: a head full of `%` is 100,000 lines of it.
"""

import re
from binascii import a2b_qp

_NO_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def unescaped(raw: bytes) -> bytes:
    """Return `raw` with its escapes decoded. A `%` that begins no escape stays."""
    if b"%" not in raw:
        return raw
    # The one decoder of escapes in C is for quoted-printable text, where `=` begins them.
    return a2b_qp(_NO_ESCAPE.sub(b"%25", raw).replace(b"=", b"%3D").replace(b"%", b"="))
