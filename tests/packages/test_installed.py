"""The wheels in an empty environment, used from outside the checkout."""

import json
import os
import re
import subprocess
import tarfile
import zipfile
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import httpx
import pytest

from tests.cli.programs import angarium, running
from tests.packages.environments import Environment, build, built, empty_environment
from tests.packages.first_delivery import Stages, deliver
from tests.patience import HANGS_S

EVERY_MODULE = """
import importlib, json, pkgutil, sys, warnings
import angarium_server
warnings.simplefilter("ignore")  # of other packages, by the version of Python
names = [each.name for each in pkgutil.walk_packages(angarium_server.__path__, "angarium_server.")]
without = []
for name in names:
    if not name.endswith("__main__"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name.partition(".")[0] not in ("opentelemetry", "google", "requests"):
                raise
            without.append(name.partition(".")[2])
ours = {"api", "engine", "storage", "angarium"}
tops = sorted(ours & {name.partition(".")[0] for name in sys.modules})
print(json.dumps([len(names), tops, without]))
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheels of the server and of the client, in this order."""
    return built(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("empty")
    environment = empty_environment(folder, [metadata(wheels[0])])
    came = environment.install(wheels[0])
    assert came == {"angarium_server", "angarium-0.1.0.dist-info"}
    return environment


def metadata(wheel: Path) -> Distribution:
    return PathDistribution(
        zipfile.Path(wheel) / f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"
    )


def test_both_wheels_install_with_one_command(wheels: list[Path], tmp_path: Path) -> None:
    environment = empty_environment(tmp_path, [metadata(wheel) for wheel in wheels])
    names = {name for name in environment.install(*wheels) if not name.endswith(".dist-info")}
    assert names == {"angarium_server", "angarium"}
    assert {path.name for path in environment.folder.joinpath("bin").glob("ang*")} == {"angarium"}
    said = environment.run("-c", "import angarium; print(angarium.__file__)", cwd=tmp_path)
    assert said.startswith(str(environment.folder))


def test_a_wheel_built_from_the_sdist_is_the_same(wheels: list[Path], tmp_path: Path) -> None:
    for wheel in wheels:
        name = "-".join(wheel.name.split("-")[:2])
        with tarfile.open(wheel.with_name(f"{name}.tar.gz")) as archive:
            archive.extractall(tmp_path, filter="data")
        build(tmp_path / name, tmp_path)
        assert contents(tmp_path / wheel.name) == contents(wheel)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_every_module_is_imported_below_the_one_package(
    installed: Environment, tmp_path: Path
) -> None:
    number, elsewhere, without = json.loads(installed.run("-c", EVERY_MODULE, cwd=tmp_path))
    assert number > 400
    assert elsewhere == [], "imported from the top level"
    # `without` lists the modules that cannot be imported, because the extra `otel` is not installed. It
    # must not list `engine.tracing.opening`, which a server imports even if it sends no traces.
    assert "engine.tracing.opening" not in without
    assert all(name.startswith("engine.tracing.") for name in without), without


async def test_an_installed_server_delivers_its_first_event(
    installed: Environment, tmp_path: Path
) -> None:
    command = [str(installed.folder / "bin" / "angarium")]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    env["ANGARIUM_EGRESS_ALLOW"] = "127.0.0.0/8"
    secret = tmp_path / "hook.secret"

    async def told(*arguments: str) -> str:
        done = await angarium(*arguments, env=env, cwd=tmp_path, command=command)
        assert done.code == 0, done.err
        return done.out.strip()

    async with (
        running("serve", "--bind", "127.0.0.1:0", env=env, cwd=tmp_path, command=command) as server,
        running("listen", "0", "--secret-file", str(secret), env=env, command=command) as listener,
    ):
        printed = await server.wait_for("Next, in another terminal")
        url = env["ANGARIUM_URL"] = printed.split("listens on ")[1].split()[0]
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=HANGS_S) as browser:
            page = await browser.get("/console")
            script = re.search(r'src="(/console/assets/[^"]+)"', page.text)
            assert script is not None, page.status_code
            assert (await browser.get(script[1])).status_code == 200
        receiver = (await listener.wait_for("Ctrl-C stops")).split("Listening on ")[1].split()[0]
        env["ANGARIUM_KEY"] = await told(
            *("keys", "create", "--environment", "DEVELOPMENT", "--scope", "manage"),
            *("--output", "text"),
        )
        made = json.loads(
            await told("destinations", "create", "First", receiver, "--secret-file", str(secret))
        )
        await told("rules", "create", "All", made["id"], "order.*")
        same = tmp_path / "same.js"
        same.write_text("function transform(event) { return {first: event.data.order}; }")
        transform = json.loads(await told("transforms", "create", made["id"], str(same)))
        await told("transforms", "publish", transform["id"])
        await told("events", "send", "order.created", "--data", '{"order": 42}')
        assert "signature verified" in await listener.wait_for('"first": 42')
        refused = await angarium(
            *("events", "send", "Not a type"), env=env, cwd=tmp_path, command=command
        )
        assert (refused.code, "Traceback" in refused.err) == (1, False), refused.err
        assert "the server refused" in refused.err


def test_the_way_to_the_first_verified_delivery_is_measured(
    installed: Environment, tmp_path: Path
) -> None:
    stages = Stages()
    deliver([installed.folder / "bin" / "angarium"], tmp_path, stages)
    ours = ["server ready", "key", "destination and rule", "event, delivered"]
    assert stages.names == [*ours, "server and receiver"]


def test_the_module_is_the_command(installed: Environment, tmp_path: Path) -> None:
    said = installed.run("-m", "angarium_server", "version", cwd=tmp_path)
    assert said.startswith("angarium 0.1.0\n")
    broken = subprocess.run(
        [installed.python, "-I", "-m", "angarium_server", "serve", "--bind", "nowhere"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert broken.returncode == 2
    assert "ANGARIUM_BIND" in broken.stderr
