"""The keys of signed tokens. A token consists of claims and their signature; no table holds it.

Keys are derived from the master key, so any process can verify a token.
"""

import hashlib
import hmac
from collections.abc import Mapping

KEY_ID_BYTES = 4
SIGNATURE_BYTES = 32


class TokenKeys:
    """The keys for tokens of one purpose. The first key signs new tokens. All keys verify tokens, so that
    tokens signed with an earlier key stay valid. Owner: the trio thread."""

    def __init__(self, keys: Mapping[bytes, bytes]) -> None:
        """`keys`: by id. Only the first bytes of an id are used."""
        self.use(keys)

    def use(self, keys: Mapping[bytes, bytes]) -> None:
        """Use these keys from now on: the master key has changed."""
        self._keys = {identifier[:KEY_ID_BYTES]: key for identifier, key in keys.items()}
        self.signing = next(iter(self._keys))  # claims must begin with this id

    def signed(self, claims: bytes) -> bytes:
        return claims + self._signature(claims)

    def claims(self, signed: bytes) -> bytes | None:
        """Return the claims of a token. Return None if none of these keys signed the claims."""
        claims, signature = signed[:-SIGNATURE_BYTES], signed[-SIGNATURE_BYTES:]
        if claims[:KEY_ID_BYTES] not in self._keys:
            return None
        return claims if hmac.compare_digest(self._signature(claims), signature) else None

    def _signature(self, claims: bytes) -> bytes:
        return hmac.digest(self._keys[claims[:KEY_ID_BYTES]], claims, hashlib.sha256)
