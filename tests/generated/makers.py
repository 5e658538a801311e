"""The makers of generated clients, one per generator. Each maker creates a client, and a program that
runs the tutorial with this client."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from api.table import openapi_json
from tests.generated.tools.install import GO_SDK, GO_TOOL, HERE, JARS, NODE
from tests.packages.tools import missing

TUTORIALS = Path(__file__).parent / "tutorials"
INSTALL = "make tools"
GO_MODULE = "example.com/tutorial"
OAPI = ("-generate", "types,client,skip-prune", "-package", "angarium")
OPENAPI_TYPESCRIPT = ("--default-non-nullable=false", "--empty-objects-unknown")
# By default, openapi-generator does not write the models of forms, although the code that it generates
# imports these models. In Go, two enumerations with the same value collide unless their values have a
# prefix.
GENERATOR = ("--global-property", "skipFormModel=false")
GENERATOR_GO = (
    "--additional-properties",
    "enumClassPrefix=true,packageName=angarium,withGoMod=false",
)
GENERATOR_JAVA = ("--library", "native")
GENERATOR_TYPESCRIPT = ("--additional-properties", "importFileExtension=.js")
# The Java and Go programs run for a few seconds. Optimized compilation would cost more time than it
# saves.
JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
GO = (
    f"-gcflags={GO_MODULE}/...=-N -l",
    "-ldflags=-s -w",
)  # without optimization and without debug information
COMPILER_OPTIONS = {
    "strict": True,
    "skipDefaultLibCheck": True,  # skips only the compiler's own files
    "target": "es2022",
    "lib": ["es2022", "dom", "dom.iterable"],
    "types": [],
    "outDir": "out",
}

Command = Sequence[str | Path]
Make = Callable[[Path], Command]  # works in a folder with openapi.json, and returns the program


class GenerationError(Exception):
    """A generator or compiler failed or gave an unexpected warning. The message is its output."""


def run(command: Command, folder: Path) -> str:
    """Run a command, and return its output. Raises GenerationError if it fails."""
    path = os.pathsep.join([str(GO_SDK), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "GOFLAGS": "-mod=mod -buildvcs=false"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise GenerationError(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def openapi_typescript(folder: Path) -> Command:
    _node(folder)
    generator = NODE.programs / "openapi-typescript"
    run([generator, "openapi.json", "-o", "schema.d.ts", *OPENAPI_TYPESCRIPT], folder)
    return _typescript(folder, "openapi_typescript")


def hey_api(folder: Path) -> Command:
    # The modules of this client import each other in a form that only bundlers and CommonJS can resolve.
    _node(folder, "commonjs")
    run([NODE.programs / "openapi-ts", "-i", "openapi.json", "-o", "client"], folder)
    return _typescript(folder, "hey_api")


def typescript_fetch(folder: Path) -> Command:
    _node(folder)
    _generator(folder, "typescript-fetch", GENERATOR_TYPESCRIPT, "client")
    return _typescript(folder, "typescript_fetch")


def oapi_codegen(folder: Path) -> Command:
    if not GO_TOOL.is_file():
        missing("oapi-codegen", INSTALL)
    (folder / "angarium").mkdir()
    run([GO_TOOL, *OAPI, "-o", "angarium/angarium.go", "openapi.json"], folder)
    return _go(folder, "oapi.go")


def generator_go(folder: Path) -> Command:
    if not GO_TOOL.is_file():
        missing("Go", INSTALL)
    _generator(folder, "go", GENERATOR_GO, "angarium")
    shutil.rmtree(folder / "angarium" / "test")
    return _go(folder, "generator.go")


def generator_java(folder: Path) -> Command:
    javac = shutil.which("javac") or missing("javac", "apt install default-jdk-headless")
    _generator(folder, "java", GENERATOR_JAVA, "client")
    shutil.copy(TUTORIALS / "Tutorial.java", folder)
    sources = [*(folder / "client/src/main/java").rglob("*.java"), folder / "Tutorial.java"]
    (folder / "sources").write_text("\n".join(f'"{source}"' for source in sources))
    quick = [f"-J{option}" for option in JVM]
    run([javac, *quick, "-nowarn", "-cp", f"{JARS}/*", "-d", "classes", "@sources"], folder)
    return ["java", *JVM, "-cp", f"classes:{JARS}/*", "Tutorial"]


MAKERS: dict[str, Make] = {
    make.__name__: make
    for make in (
        openapi_typescript,
        hey_api,
        typescript_fetch,
        oapi_codegen,
        generator_go,
        generator_java,
    )
}


def made(name: str, folder: Path) -> Command:
    (folder / "openapi.json").write_bytes(openapi_json())
    return MAKERS[name](folder)


def _node(folder: Path, module: str = "nodenext") -> None:
    if shutil.which("node") is None or not NODE.installed():
        missing("node with the generators", f"{INSTALL}, after apt install npm")
    (folder / "node_modules").symlink_to(NODE.folder / "node_modules")
    kind = "commonjs" if module == "commonjs" else "module"
    (folder / "package.json").write_text(json.dumps({"type": kind}))
    options = {**COMPILER_OPTIONS, "module": module}
    project = {"compilerOptions": options, "files": ["tutorial.ts"]}
    (folder / "tsconfig.json").write_text(json.dumps(project))


def _generator(folder: Path, language: str, options: Sequence[str], target: str) -> None:
    java = shutil.which("java") or missing("java", "apt install default-jdk-headless maven")
    found = sorted(JARS.glob("openapi-generator-cli-*.jar")) or missing("Maven", INSTALL)
    command: list[str | Path] = [java, *JVM, "-jar", found[0], "generate", "-i", "openapi.json"]
    run([*command, "-g", language, "-o", target, *GENERATOR, *options], folder)


def _typescript(folder: Path, tutorial: str) -> Command:
    shutil.copy(TUTORIALS / f"{tutorial}.ts", folder / "tutorial.ts")
    run([NODE.programs / "tsc", "-p", "."], folder)
    return ["node", "out/tutorial.js"]


def _go(folder: Path, tutorial: str) -> Command:
    module = (HERE / "go.mod").read_text().replace("angarium.invalid/tests/generated", GO_MODULE)
    (folder / "go.mod").write_text(module)
    shutil.copy(HERE / "go.sum", folder)
    shutil.copy(TUTORIALS / tutorial, folder / "main.go")
    run(["go", "build", *GO, "-o", "tutorial", "."], folder)
    return [folder / "tutorial"]
