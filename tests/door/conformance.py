"""The conformance of HTTP/2, tested by h2spec in clear and over TLS.

Run `python -m tests.door.conformance`. The exit code is 1 if a case fails, and 2 if h2spec is missing.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import trio
import trustme

from tests.door.house import House


async def measured(program: str, tls: tuple[Path, Path] | None) -> int:
    house = House(tls=tls)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.reactor.run)
        nursery.start_soon(house.timers.run)
        await nursery.start(house.door.run)
        command = [program, "-h", "127.0.0.1", "-p", str(house.door.address[1]), "-o", "2"]
        done = await trio.run_process([*command, *(["-t", "-k"] if tls else [])], check=False)
        nursery.cancel_scope.cancel()
    house.reactor.shut()
    return done.returncode


def main() -> int:
    program = shutil.which("h2spec")
    if program is None:
        sys.stderr.write("h2spec is not installed\n")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        issued = trustme.CA().issue_cert("localhost", "127.0.0.1")
        chain, key = Path(folder) / "chain.pem", Path(folder) / "key.pem"
        for blob in issued.cert_chain_pems:
            blob.write_to_path(str(chain), append=True)
        issued.private_key_pem.write_to_path(str(key))
        return max(trio.run(measured, program, tls) for tls in (None, (chain, key)))


if __name__ == "__main__":
    sys.exit(main())
