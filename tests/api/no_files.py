"""The file services of the control plane that `tests.api.house` runs. They can store no file."""

from pathlib import Path

from obstore.store import MemoryStore

from api.budget import BodyBudget
from api.services import FileServices
from engine.files.depot import Depot, FileLibrary
from engine.files.urls import FileUrls
from engine.ingest.ingest import Ingest
from engine.ingest.uploads import Uploads
from engine.model.identity import Identity
from engine.model.read_models import Models
from engine.plans.plans import Plans, Visibility
from engine.replay.job import ReplayJob
from engine.replay.ports import Reading
from engine.routing.router import Router
from engine.submission.key_lookup import KeyLookup
from engine.submission.submission import OVERLOADED, Submission
from storage.database.bridge import Bridge
from storage.encryption.secretbox import SecretBox
from storage.files.blobs import ObjectBlobs
from storage.files.rows import PostgresFiles
from storage.files.spool import DiskSpool
from storage.intake.store import PostgresClaims


def no_files(bridge: Bridge, models: Models, plans: Plans) -> FileServices:
    """Return services that read the database's rows about files, but can store no file."""

    def refuse(submission: Submission) -> None:
        submission.settle(OVERLOADED)

    def spawn(*_: object) -> None:
        raise AssertionError("nothing is to be done in the background")

    def now() -> float:
        return 0.0

    store = PostgresFiles(bridge.pool, SecretBox([b"k" * 32]))
    blobs = ObjectBlobs(MemoryStore())
    depot = Depot(DiskSpool(Path("/nowhere"), 0), blobs, store)
    keys = KeyLookup(PostgresClaims(bridge.pool), now)
    ingest = Ingest(Router(models), refuse, Identity(), spawn, keys)
    return FileServices(
        uploads=Uploads(ingest, keys, refuse, Identity(), store, depot, spawn),
        depot=depot,
        library=FileLibrary(store, blobs, Visibility(plans, now), plans),
        spooled=BodyBudget(0, 0),
        urls=FileUrls({b"key ": b"k" * 32}, lambda: "https://angarium.example", 60.0, now),
    )


def no_reading(job: ReplayJob) -> Reading:
    """Fail if a replay's dry run begins, because nothing in these tests would complete it."""
    raise AssertionError(f"job {job.id} is read")
