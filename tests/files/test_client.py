"""The client and the commands send and read files piece by piece."""

import hashlib
import io
import json
from pathlib import Path

import pytest
import trio
from structlog.testing import capture_logs

import angarium
from api.cli.remote.files import guessed
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from tests.service.house import ServiceHouse

CONTENT = bytes(range(256)) * 1_000


async def key_of(house: ServiceHouse, tenant: Tenant) -> tuple[str, str]:
    made = await house.keys.create(tenant, Scope.MANAGE, Environment.DEVELOPMENT, "a client's")
    house.issued.credential(made.secret)
    return f"http://127.0.0.1:{house.door.address[1]}", made.secret


async def test_the_client_uploads_whatever_holds_bytes_and_reads_them_back(
    house: ServiceHouse, tenant: Tenant, tmp_path: Path
) -> None:
    address, key = await key_of(house, tenant)
    path = trio.Path(tmp_path / "scan.bin")
    await path.write_bytes(CONTENT)
    stream = io.BytesIO(b"before" + CONTENT)
    stream.seek(6)
    async with angarium.AsyncClient(address, key, trust_env=False) as client:
        for content in (str(path), tmp_path / "scan.bin", CONTENT, stream):
            told = await client.files.create(content, content_type="image/png", metadata={"n": 1})
            assert told["sha256"] == hashlib.sha256(CONTENT).hexdigest()
            pieces = [piece async for piece in client.files.content(told["id"])]
            assert b"".join(pieces) == CONTENT
        file = await client.files.get(told["id"])
        assert (file["contentType"], file["metadata"]) == ("image/png", {"n": 1})
        assert [each["fileName"] async for each in client.files.iterate()] == [
            None,
            None,
            "scan.bin",
            "scan.bin",
        ]
        fetched = await client.files.create_from_url("https://example.com/f")
        assert fetched["sizeBytes"] is None
        with pytest.raises(angarium.NotFoundError):
            [piece async for piece in client.files.content(fetched["eventId"])]
    with pytest.raises(angarium.ArgumentError):
        await client.files.create(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("invoice.pdf", "application/pdf"),
        ("/tmp/scan.of.1.PNG", "image/png"),
        ("orders.json", "application/json"),
        ("backup.tar.gz", "application/gzip"),
        ("orders.csv.br", None),
        ("data:,a.pdf", "application/pdf"),
        ("unknown", None),
    ],
)
def test_a_type_is_what_the_name_tells(name: str, kind: str | None) -> None:
    assert guessed(name) == kind


async def test_a_file_of_json_is_sent_as_it_is(
    house: ServiceHouse, tenant: Tenant, tmp_path: Path
) -> None:
    """The server normally reads a body of the type `application/json` or `multipart/form-data` as a
    request that contains a file. If the file itself has one of these types, the client must upload the
    file so that its bytes are stored unchanged."""
    address, key = await key_of(house, tenant)
    async with angarium.AsyncClient(address, key, trust_env=False) as client:
        for kind in ("application/json", "multipart/form-data; boundary=x"):
            told = await client.files.create(b'{"n": 1.0}', content_type=kind, file_name="n.json")
            assert (await client.files.get(told["id"]))["contentType"] == kind
            pieces = [piece async for piece in client.files.content(told["id"])]
            assert b"".join(pieces) == b'{"n": 1.0}'


async def test_the_commands_do_the_same(
    house: ServiceHouse, tenant: Tenant, tmp_path: Path
) -> None:
    address, key = await key_of(house, tenant)
    source = trio.Path(tmp_path / "scan.bin")
    await source.write_bytes(CONTENT)
    environment = {"ANGARIUM_URL": address, "ANGARIUM_KEY": key}

    def run(*arguments: str) -> tuple[int, str]:
        from click.testing import CliRunner

        from api.cli import main

        result = CliRunner().invoke(main, ["files", *arguments], env=environment)
        return result.exit_code, result.output

    async def ask(*arguments: str) -> tuple[int, str]:
        # The server runs in this process, and its log is not the command's output.
        with capture_logs():
            return await trio.to_thread.run_sync(run, *arguments)

    code, output = await ask("upload", str(source), "--file-type", "scan", "--output", "json")
    assert code == 0, output
    code, output = await ask("list", "--state", "STORED", "--output", "table")
    assert "scan.bin" in output
    file = output.splitlines()[1].split()[0]
    assert (await ask("get", file))[0] == 0
    target = trio.Path(tmp_path / "copy.bin")
    assert await ask("download", file, str(target)) == (0, "")
    assert await target.read_bytes() == CONTENT
    assert (await ask("download", file, str(target)))[0] == 2  # the target already exists
    other = trio.Path(tmp_path / "other.bin")
    assert (await ask("download", "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10", str(other)))[0] == 4
    assert not await other.exists()
    assert (await ask("upload", str(tmp_path / "nothing")))[0] == 2

    orders = trio.Path(tmp_path / "orders.json")
    await orders.write_bytes(b"[1]")
    for more, kind in (
        ((), "application/json"),
        (("--name", "a.csv"), "text/csv"),
        (("--content-type", "text/plain"), "text/plain"),
    ):
        code, output = await ask("upload", str(orders), *more, "--output", "jsonl")
        assert code == 0, output
        code, output = await ask("get", json.loads(output)["id"], "--output", "jsonl")
        assert json.loads(output)["contentType"] == kind
