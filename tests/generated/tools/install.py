"""`python -m tests.generated.tools.install`: install pinned generators, linters and libraries in
`.tools`.

The program reports and skips languages that are not installed on this computer.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.packages.npm import ROOT, Tools

HERE = Path(__file__).parent
NODE = Tools(HERE, "generated", "generators of TypeScript clients and linters of the document")
JARS = ROOT / ".tools" / "jars"
GO_TOOL = ROOT / ".tools" / "bin" / "oapi-codegen"
GO_SDK = ROOT / ".tools" / "sdk" / "go" / "bin"
COPY = "dependency:copy-dependencies"


def jars() -> bool:
    """Returns False without Maven."""
    maven = shutil.which("mvn")
    if maven is None:
        return False
    shutil.rmtree(JARS, ignore_errors=True)
    pom = str(HERE / "pom.xml")
    options = ["-q", "-B", "-f", pom, COPY, f"-DoutputDirectory={JARS}"]
    subprocess.run([maven, *options], check=True)
    pinned = {}
    for line in (HERE / "jars.sha256").read_text().splitlines():
        digest, name = line.split()
        pinned[name] = digest
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in JARS.iterdir()}
    if found != pinned:
        shutil.rmtree(JARS)
        raise SystemExit(f"{HERE / 'jars.sha256'} does not have these files: {found}")
    return True


def oapi_codegen() -> bool:
    """Returns False without Go."""
    go = shutil.which("go")
    if go is None:
        return False
    module = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"
    subprocess.run([go, "build", "-mod=readonly", "-o", GO_TOOL, module], cwd=HERE, check=True)
    subprocess.run([go, "mod", "download"], cwd=HERE, check=True)
    return True


def main() -> int:
    missing = {
        "node and npm": not NODE.ready(),
        "Maven": not jars(),
        "Go": not oapi_codegen(),
    }
    for what, lacks in missing.items():
        if lacks:
            print(f"Left out: the generated clients that need {what}", file=sys.stderr)
    return int("CI" in os.environ and any(missing.values()))


if __name__ == "__main__":
    sys.exit(main())
