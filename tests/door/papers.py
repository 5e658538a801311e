"""Certificate files, as an operator gives them to the door."""

from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True, slots=True)
class Papers:
    """The files of a certificate and its key, and the authority that signs each certificate written to
    these files.
    """

    cert: Path
    key: Path
    authority: trustme.CA

    def write(self, *names: str) -> None:
        issued = self.authority.issue_cert(*names)
        issued.private_key_pem.write_to_path(self.key)
        issued.cert_chain_pems[0].write_to_path(self.cert)


def papers(folder: Path, *names: str) -> Papers:
    made = Papers(folder / "cert.pem", folder / "key.pem", trustme.CA())
    made.write(*names)
    return made
