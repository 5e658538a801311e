"""Uploads: a stored file, or a URL to fetch, becomes an event with its deliveries.

File and event become durable in one commit. The depot holds the content until the result of that commit
is known, even if the client no longer waits.
"""

import hashlib
from collections.abc import Callable

import structlog
import trio
from msgspec import Struct, structs

from engine.core.records import Event
from engine.core.vocabulary import DeliveryKind, Origin
from engine.files.attachments import payload_of
from engine.files.depot import Depot, Kept
from engine.files.ports import FileStore
from engine.ingest.file_draft import FileFields
from engine.ingest.ingest import Ingest, Spawn
from engine.model.errors import Detail, Refusal
from engine.model.file_records import FilePurpose, FileRecord, FileState, SourceKind
from engine.model.identity import Identity
from engine.ports import Claimed
from engine.submission.key_lookup import KeyedRefusal, KeyLookup
from engine.submission.receipts import Accepted
from engine.submission.submission import Fate, Submission

RETRY_S = 1  # a group takes far less than a second

log = structlog.get_logger("angarium.files")


class Content(Struct, frozen=True):
    """The content of a file: either `kept`, or at `url`."""

    source: SourceKind
    kept: Kept | None = None
    url: str | None = None


class Receipt(Struct, frozen=True):
    """The result of an upload. For a duplicate, `file` is the file of the first upload."""

    file: FileRecord
    deliveries: int
    duplicate: bool


class Uploads:
    """Owner of the uploads whose commit is under way."""

    def __init__(
        self,
        ingest: Ingest,
        keys: KeyLookup,
        submit: Callable[[Submission], None],
        identity: Identity,
        files: FileStore,
        depot: Depot,
        spawn: Spawn,
    ) -> None:
        self._ingest = ingest
        self._keys = keys
        self._submit = submit
        self._identity = identity
        self._files = files
        self._depot = depot
        self._spawn = spawn

    async def accept(
        self,
        environment: int,
        fields: FileFields,
        content: Content,
        hops: int = 0,
        trace: str | None = None,
    ) -> Receipt:
        """Make a file and its event durable. `hops`: how many deliveries of this service led to the
        event.

        Raises Refusal (`internal` if the upload may have been accepted) and StoreError.
        """
        file = self._record(environment, fields, content)
        event = Event(
            file.event,
            environment,
            fields.event_type,
            self._identity.wall_ms,
            payload_of(file),
            customer=fields.customer_external_id,
            idempotency_key=fields.idempotency_key,
            origin=Origin.FILE,
            file=file.id,
            hops=hops,
            trace=trace,
        )
        digest = _digest(fields, file)
        try:
            accepted = await self._ingest.routed(event, DeliveryKind.FILE, digest)
        except KeyedRefusal as refusal:  # an accepted upload with this key decides
            holder = (await self._keys.holders(environment, [refusal])).get(refusal.key)
            if holder is None:
                raise
            return await self._duplicate(environment, digest, holder)
        fate = await self._fate(accepted, file, content.kept)
        if fate.refusal is not None:
            raise _failed(fate.refusal)
        holder = (fate.lost or {}).get(event.id)
        if holder is not None:
            return await self._duplicate(environment, digest, holder)
        return Receipt(file, len(accepted.deliveries), duplicate=False)

    def _record(self, environment: int, fields: FileFields, content: Content) -> FileRecord:
        fields.check()
        file = FileRecord(
            id=self._identity.other(),
            environment=environment,
            state=FileState.PENDING,
            purpose=FilePurpose.UPLOAD,
            event=self._identity.event(),
            source=content.source,
            source_url=content.url,
            content_type=fields.content_type,
            file_name=fields.file_name,
            file_type=fields.file_type,
            metadata=fields.checked_metadata(),
            customer=fields.customer_external_id,
        )
        kept = content.kept
        if kept is None:
            return file
        return structs.replace(file, state=FileState.STORED, size=kept.size, sha256=kept.sha256)

    async def _fate(self, accepted: Accepted, file: FileRecord, kept: Kept | None) -> Fate:
        """If the caller is cancelled, the submission goes on."""
        fates: list[Fate] = []
        settled = trio.Event()

        def settle(fate: Fate) -> None:
            fates.append(fate)
            settled.set()
            if kept is not None and fate.refusal == "internal":
                # The outcome of the commit is unknown: the upload's row can still appear. So the content
                # is held as long as this process lives. After the next start, the depot removes the
                # content if no row names it.
                log.warning("files.in_doubt", environment=kept.environment)
            elif kept is not None:
                self._spawn(self._depot.let_go, kept)

        if kept is not None:
            kept.lend()
        claims = [accepted.claim] if accepted.claim is not None else []
        size = len(accepted.event.payload)
        self._submit(
            Submission([accepted.event], accepted.deliveries, claims, size, settle, (file,))
        )
        await settled.wait()
        return fates[0]

    async def _duplicate(self, environment: int, digest: bytes, holder: Claimed) -> Receipt:
        if holder.digest != digest:
            raise Refusal(
                "idempotency_mismatch",
                "the idempotencyKey was used for something else: use another one",
                (Detail("idempotencyKey", "was used with another type, customer or file"),),
            )
        for file in await self._files.of_event(environment, holder.event):
            if file.purpose is FilePurpose.UPLOAD:
                return Receipt(file, holder.deliveries, duplicate=True)
        raise Refusal("internal", "the file of the first upload with this idempotencyKey is gone")


def _digest(fields: FileFields, file: FileRecord) -> bytes:
    """Return the digest of an upload. It never equals the digest of an event that is no upload, because
    it covers more parts. So if an upload and such an event have the same idempotency key, neither counts
    as a duplicate of the other."""
    digest = hashlib.sha256()
    for part in (
        fields.event_type.encode(),
        (fields.customer_external_id or "").encode(),
        file.sha256 or b"",
        (file.source_url or "").encode(),
        (fields.file_name or "").encode(),
        (fields.content_type or "").encode(),
    ):
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.digest()


def _failed(code: str) -> Refusal:
    if code == "overloaded":
        return Refusal(
            code, "the service cannot take files now: repeat the upload", retry_after_s=RETRY_S
        )
    return Refusal(code, "the outcome is unknown: repeat the upload with the same idempotencyKey")
