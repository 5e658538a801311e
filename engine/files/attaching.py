"""The attachments of an incoming event: their content is stored before the event is committed, and
removed if the event is refused.

The intake writes the files' rows in the event's own transaction (`Submission.files`).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from msgspec import Struct, structs

from engine.core.records import Event
from engine.files.attachments import (
    AttachmentDraft,
    as_files,
    is_file_id,
    metadata_of,
    no_such_file,
    read_attachments,
)
from engine.files.depot import Depot, Kept
from engine.files.ports import FileStore
from engine.model.errors import Refusal
from engine.model.file_records import FILE_BYTES, FilePurpose, FileRecord, FileState, SourceKind
from engine.model.identity import Identity
from engine.ports import StoreError
from engine.submission.key_lookup import KeyedRefusal
from engine.submission.receipts import Accepted

AT_ONCE = 8  # each attachment costs two flushes to disk and three short statements
WAITING_MOST = (
    # One batch, or the single events of some seconds.
    1_000
)
BATCH_FILES = 1_000  # of one request: some seconds of flushes, like BATCH_DELIVERIES of commits
RETRY_S = 1


class Attached(Struct):
    """The files of a request's events. `held`: the content of the files, which the depot must not remove
    until the events are accepted or refused."""

    files: list[FileRecord]
    held: list[Kept]


NOTHING_ATTACHED = Attached([], [])


class Attaching:
    """Owner of the number of attachments that are being stored."""

    def __init__(self, depot: Depot, files: FileStore, identity: Identity) -> None:
        self._depot = depot
        self._files = files
        self._identity = identity
        self._turns = trio.CapacityLimiter(AT_ONCE)
        self._waiting = 0

    async def attach(self, accepted: Accepted) -> Attached:
        """Store an event's attachments, and rewrite the event's `attachments` to name the stored files.

        Raise Refusal `overloaded`, or `not_found` if an attachment names an unknown file. If the event
        has an idempotency key, raise KeyedRefusal instead of `not_found`: the caller must first look for
        an accepted event with the same key. After an error, no content is held.
        """
        event = accepted.event
        assert event.attachments is not None
        if self._waiting >= WAITING_MOST:
            raise _overloaded("too many attachments are being kept")
        attached = Attached([], [])
        self._waiting += 1
        try:
            async with self.let_go_unless_done(attached):
                for index, attachment in enumerate(read_attachments(event.attachments)):
                    async with self._turns:
                        await self._keep(event, index, attachment, attached)
        except StoreError:
            raise _overloaded("the database does not answer") from None
        except Refusal as refusal:
            if accepted.claim is None or refusal.code != "not_found":
                raise
            raise KeyedRefusal(refusal, Accepted(event, [], accepted.claim)) from None
        finally:
            self._waiting -= 1
        event.attachments = as_files(event.attachments, attached.files)
        return attached

    async def attach_all(self, entries: list[Accepted | Refusal]) -> Attached:
        """Store the attachments of a batch's events. In `entries`, replace a refused event by its
        refusal. Raise Refusal `payload_too_large` past `BATCH_FILES` attachments."""
        bringing = [
            (index, entry)
            for index, entry in enumerate(entries)
            if isinstance(entry, Accepted) and entry.event.attachments is not None
        ]
        count = sum(
            len(read_attachments(entry.event.attachments or b"[]")) for _, entry in bringing
        )
        if count > BATCH_FILES:
            raise Refusal(
                "payload_too_large",
                f"the batch has {count} attachments, {BATCH_FILES} are the most",
            )
        whole = Attached([], [])

        async def one(index: int, entry: Accepted) -> None:
            try:
                attached = await self.attach(entry)
            except Refusal as refusal:
                entries[index] = refusal
            else:
                whole.files += attached.files
                whole.held += attached.held

        async with self.let_go_unless_done(whole), trio.open_nursery() as nursery:
            for index, entry in bringing:
                nursery.start_soon(one, index, entry)
        return whole

    async def let_go(self, attached: Attached) -> None:
        """Release the content after the events are accepted or refused."""
        while attached.held:
            await self._depot.let_go(attached.held.pop())

    @asynccontextmanager
    async def let_go_unless_done(self, attached: Attached) -> AsyncIterator[None]:
        """Release the content if the block raises."""
        try:
            yield
        except BaseException:
            with trio.CancelScope(shield=True):
                await self.let_go(attached)
            raise

    async def _keep(
        self, event: Event, index: int, attachment: AttachmentDraft, attached: Attached
    ) -> None:
        file = FileRecord(
            id=self._identity.other(),
            environment=event.environment,
            state=FileState.PENDING,
            purpose=FilePurpose.ATTACHMENT,
            event=event.id,
            position=index,
            source=attachment.kind,
            content_type=attachment.contentType or None,
            file_name=attachment.fileName or None,
            file_type=attachment.fileType or None,
            metadata=metadata_of(attachment),
            customer=event.customer,
        )
        if file.source is SourceKind.URL:
            file = structs.replace(file, source_url=attachment.source.uri)
        elif file.source is SourceKind.INLINE:
            file = await self._inline(file, attachment, attached)
        else:
            file = await self._shared(file, index, attachment.source.uri, attached)
        attached.files.append(file)

    async def _inline(
        self, file: FileRecord, attachment: AttachmentDraft, attached: Attached
    ) -> FileRecord:
        inline = attachment.inline()
        content = inline.content
        async with self._depot.keep(file.environment, _at_once(content), FILE_BYTES) as kept:
            kept.lend()
            attached.held.append(kept)
        return structs.replace(
            file,
            state=FileState.STORED,
            size=kept.size,
            sha256=kept.sha256,
            content_type=file.content_type or inline.content_type,
        )

    async def _shared(
        self, file: FileRecord, index: int, uri: str, attached: Attached
    ) -> FileRecord:
        """Complete the attachment `file`, which names an earlier file: `uri` is the earlier file's id. If
        the earlier file is stored, the returned file has the same content. Otherwise, it has the earlier
        file's source URL."""
        lender = await self._files.get(file.environment, uri.lower()) if is_file_id(uri) else None
        if lender is None:
            raise no_such_file(index)
        if lender.state is FileState.STORED:
            assert lender.sha256 is not None
            assert lender.size is not None
            kept = self._depot.hold(file.environment, lender.sha256, lender.size)
            attached.held.append(kept)
            lender = await self._files.get(file.environment, lender.id)
            if lender is None:  # the file was removed since the first look
                raise no_such_file(index)
        return structs.replace(
            file,
            state=FileState.STORED if lender.state is FileState.STORED else FileState.PENDING,
            source_url=None if lender.state is FileState.STORED else lender.source_url,
            size=lender.size,
            sha256=lender.sha256,
            content_type=file.content_type or lender.content_type,
            file_name=file.file_name or lender.file_name,
            file_type=file.file_type or lender.file_type,
        )


async def _at_once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _overloaded(message: str) -> Refusal:
    return Refusal("overloaded", message, retry_after_s=RETRY_S)
