"""Certificates for receivers with TLS: the bench's own authority, and a key with its certificate."""

import tempfile
from pathlib import Path

import trustme


class Papers:
    """Two files for 127.0.0.1, in a folder that `cleanup` removes."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="angarium-papers-")
        folder = Path(self._folder.name)
        self.authority = str(folder / "authority.pem")  # for a server's SSL_CERT_FILE
        self.key = str(folder / "papers.pem")  # with the certificate chain
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.authority)
        issued = authority.issue_cert("127.0.0.1")
        issued.private_key_and_cert_chain_pem.write_to_path(self.key)

    def cleanup(self) -> None:
        """Remove the files."""
        self._folder.cleanup()
