"""A strict reader of `data:` URIs (RFC 2397). It refuses URIs that readers can understand differently."""

import base64
import binascii
import re
from urllib.parse import unquote_to_bytes

from msgspec import Struct

_NAME = r"[A-Za-z0-9!#$&^_.+-]{1,127}"  # a type's name, RFC 6838
_VALUE = r"[A-Za-z0-9!#$&^_.+%*'`{|}~-]{1,127}|\"[A-Za-z0-9!#$&^_.+ -]{0,127}\""
_HEAD = re.compile(
    rf"data:(?P<type>{_NAME}/{_NAME})?(?P<parameters>(?:;{_NAME}=(?:{_VALUE}))*)(?P<base64>;base64)?,",
    re.IGNORECASE | re.ASCII,
)
# Any number of characters that need no percent-encoding in a URI (RFC 3986).
_PLAIN = r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=]*"
_DATA = re.compile(rf"{_PLAIN}(?:%[0-9A-Fa-f]{{2}}{_PLAIN})*")
DEFAULT_TYPE = "text/plain;charset=US-ASCII"


class Inline(Struct, frozen=True):
    """The content of a `data:` URI."""

    content_type: str
    content: bytes


def read_data_uri(uri: str) -> Inline:
    """Return the content of a URI. Raise ValueError with a text for users."""
    head = _HEAD.match(uri)
    if head is None:
        raise ValueError("must be a data: URI")
    if _DATA.fullmatch(uri, head.end()) is None:
        raise ValueError("has characters that a URI must percent-encode")
    parameters = head["parameters"]
    content_type = (head["type"] or "text/plain") + parameters
    if head["type"] is None and not parameters:
        content_type = DEFAULT_TYPE
    content = unquote_to_bytes(uri[head.end() :])
    return Inline(content_type, read_base64(content) if head["base64"] else content)


def read_base64(text: bytes) -> bytes:
    """Decode base64 (RFC 4648, padded). Raise ValueError with a text for users."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not base64, with padding and without line breaks") from None
    if base64.b64encode(content) != text:  # the last character can have bits that decoders ignore
        raise ValueError("is not base64 in its one form")
    return content
