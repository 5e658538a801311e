"""Files in a server with its own process. A kill leaves no file behind. The server holds only a small
piece of each file in memory."""

import hashlib
import http.client
import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.patience import HANGS_S
from tests.process.house import House, until

MIB = 1024 * 1024
KIB = 1024
LARGEST = 25 * MIB
ONE_MIB = 8  # the memory limit for one upload of the largest file
# ALL_MIB is the memory limit for a hundred uploads at once. Each upload takes about 128 KiB in its
# connection and about 128 KiB in the spool. The rest of the limit is for the objects of the requests.
AT_ONCE, EACH, ALL_MIB = 100, 5 * MIB, 96
ROUNDS = 3  # one of them kills the database too


def memory_mib(house: House, name: str) -> float:
    """Return the memory of the server's process in MiB: at present (VmRSS) or at its peak (VmHWM)."""
    assert house.process is not None
    status = Path(f"/proc/{house.process.pid}/status").read_text()
    line = next(each for each in status.splitlines() if each.startswith(name + ":"))
    return int(line.split()[1]) / 1024


def reset_peak(house: House) -> None:
    assert house.process is not None
    Path(f"/proc/{house.process.pid}/clear_refs").write_text("5")


def pieces(seed: int, size: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    while size:
        piece = chance.randbytes(min(size, 64 * KIB))
        size -= len(piece)
        yield piece


def digest_of(seed: int, size: int) -> str:
    digest = hashlib.sha256()
    for piece in pieces(seed, size):
        digest.update(piece)
    return digest.hexdigest()


class OverloadedError(Exception):
    """The answer was 503, so the upload was not accepted."""


def upload(
    house: House, seed: int, size: int, query: str = "", pause: threading.Event | None = None
) -> dict[str, object] | None:
    """Send a file piece by piece. Return the answer, or None if it is unknown whether the server accepted
    the file."""
    connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=HANGS_S)
    try:
        connection.putrequest("POST", f"/files{query}")
        connection.putheader("Authorization", f"Bearer {house.key}")
        connection.putheader("Content-Type", "application/octet-stream")
        connection.putheader("Content-Length", str(size))
        connection.endheaders()
        for piece in pieces(seed, size):
            connection.send(piece)
            if pause is not None:
                pause.wait(0.002)
        answer = connection.getresponse()
        read: dict[str, object] = json.loads(answer.read())
        if answer.status == 503:
            raise OverloadedError
        if answer.status == 500:
            assert read["code"] == "internal", read
            return None
        assert answer.status == 202, read
    except (OSError, http.client.HTTPException):
        return None
    else:
        return read
    finally:
        connection.close()


def download(house: House, file: object) -> str:
    """Return the hash of a stored file's content."""
    connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=HANGS_S)
    headers = {"Authorization": f"Bearer {house.key}"}
    connection.request("GET", f"/files/{file}/content", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    digest = hashlib.sha256()
    while piece := answer.read(64 * KIB):
        digest.update(piece)
    connection.close()
    return digest.hexdigest()


def folder_of(house: House) -> Path:
    return house.folder / "files"


def blobs(house: House) -> dict[str, Path]:
    return {each.name: each for each in folder_of(house).glob("[0-9]*/*/*")}


def spooled(house: House) -> list[Path]:
    return [each for each in folder_of(house).glob("incoming/*/*") if each.name != "lock"]


def nothing_left_behind(house: House) -> None:
    """Wait until the server has finished its cleaning after the start. Then check that the files on the
    disk are the files of the database's rows."""
    until(lambda: house.value("SELECT count(*) FROM file_suspects") == 0, "no suspects")
    assert spooled(house) == []
    assert len(list(folder_of(house).glob("incoming/*/lock"))) == 1
    named = {row[0] for row in house.rows("SELECT DISTINCT encode(sha256, 'hex') FROM files")}
    assert set(blobs(house)) == named
    orphans = house.value(
        "SELECT count(*) FROM files f WHERE NOT EXISTS"
        " (SELECT FROM events e WHERE e.environment = f.environment AND e.id = f.event)"
    )
    assert orphans == 0
    events = house.value("SELECT count(*) FROM events WHERE origin = 2")
    assert events == house.value("SELECT count(*) FROM files")


def test_killed_while_a_file_is_received_it_leaves_nothing_behind(house: House) -> None:
    upload(house, 1, 1 * MIB)
    before = len(blobs(house))
    for size in (64 * KIB, 3 * MIB, LARGEST):
        with socket.create_connection(("127.0.0.1", house.port)) as client:
            head = f"POST /files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {house.key}\r\n"
            client.sendall(f"{head}Content-Length: {LARGEST}\r\n\r\n".encode())
            left = size - 1
            for piece in pieces(2, left):
                client.sendall(piece)
            until(lambda: spooled(house), "it is being received")
            house.kill()
        assert spooled(house)
        house.start()
        nothing_left_behind(house)
        assert len(blobs(house)) == before


def test_killed_at_any_moment_a_file_is_there_with_its_event_or_not_at_all(house: House) -> None:
    chance = random.Random(5)
    accepted: dict[int, str] = {}
    # Idempotency keys of uploads that were answered with 503, because the database was killed before the
    # server.
    refused: list[str] = []
    numbers = iter(range(10, 1_000_000))
    turn = threading.Lock()
    going = threading.Event()
    going.set()

    def send() -> None:
        while going.is_set():
            with turn:
                seed = next(numbers)
            try:
                told = upload(house, seed, 20 * KIB + seed, f"?idempotencyKey=f{seed}")
            except OverloadedError:
                refused.append(f"f{seed}")
                continue
            if told is None:
                going.wait(0.05) if not going.is_set() else threading.Event().wait(0.02)
            else:
                accepted[seed] = str(told["id"])

    senders = [threading.Thread(target=send) for _ in range(4)]
    for sender in senders:
        sender.start()
    try:
        for number in range(ROUNDS):
            seen = len(accepted)
            until(lambda seen=seen: len(accepted) > seen + 5, "files are accepted")  # type: ignore[misc]
            threading.Event().wait(chance.uniform(0, 0.05))  # the random moment is the test's point
            house.kill(database=number % 3 == 2)
            house.start()
    finally:
        going.clear()
        for sender in senders:
            sender.join()
    nothing_left_behind(house)
    there = "SELECT count(*) FROM events WHERE idempotency_key = ANY($1)"
    assert house.value(there, refused) == 0
    for seed, file in accepted.items():
        assert download(house, file) == digest_of(seed, 20 * KIB + seed)
    seed, file = accepted.popitem()
    again = upload(house, seed, 20 * KIB + seed, f"?idempotencyKey=f{seed}")
    assert again is not None
    assert (again["id"], again["duplicate"]) == (file, True)


def test_one_of_the_largest_files_grows_the_process_by_little(house: House) -> None:
    for seed in (1, 2):  # creates what exists only once, such as threads and statements
        told = upload(house, seed, 2 * MIB)
        assert told is not None
        download(house, told["id"])
    reset_peak(house)
    before = memory_mib(house, "VmRSS")
    told = upload(house, 3, LARGEST)
    assert told is not None
    up = memory_mib(house, "VmHWM") - before
    assert download(house, told["id"]) == told["sha256"] == digest_of(3, LARGEST)
    down = memory_mib(house, "VmHWM") - before
    print(f"25 MiB: {up:.1f} MiB up, {down:.1f} MiB up and down")
    assert down < ONE_MIB


def test_a_hundred_uploads_at_once_are_held_within_a_bound(house: House) -> None:
    reset_peak(house)
    before = memory_mib(house, "VmRSS")
    told: list[object] = []
    pause = threading.Event()

    def send(seed: int) -> None:
        told.append(upload(house, seed, EACH, "", pause))

    began = time.monotonic()
    senders = [threading.Thread(target=send, args=(1_000 + n,)) for n in range(AT_ONCE)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    took = time.monotonic() - began
    assert len([each for each in told if each is not None]) == AT_ONCE
    peak = memory_mib(house, "VmHWM") - before
    print(f"100 x 5 MiB: {peak:.1f} MiB, {took:.1f} s")
    assert peak < ALL_MIB
    nothing_left_behind(house)
