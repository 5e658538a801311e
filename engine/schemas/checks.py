"""The active schemas of this process, each compiled when an event first needs it.

The texts of all active schemas stay in memory; their number and size are bounded in each environment. A
compiled schema is some twenty times as large as its text.
"""

import json
from collections import deque
from collections.abc import Callable

import structlog

from engine.model.errors import Refusal
from engine.model.read_models import ActiveSchema, Models
from engine.runtime.slices import no_pause
from engine.schemas.compiled import CompiledSchema, bound_compiling

log = structlog.get_logger("angarium.schemas")
COMPILED_BYTES = 8 << 20  # the texts of all schemas that stay compiled


class SchemaCheck:
    """The check of payloads by one active schema. Implements `engine.model.read_models.PayloadCheck`."""

    __slots__ = ("_compiled", "_compiler", "schema")

    def __init__(self, schema: ActiveSchema, compiler: "SchemaCompiler") -> None:
        self.schema = schema
        self._compiler = compiler
        self._compiled: CompiledSchema | None = None

    def check(self, payload: bytes, pause: Callable[[], None] = no_pause) -> None:
        """Raise Refusal `schema_violation` if a payload does not conform; see `CompiledSchema.check`."""
        compiled = self._compiled
        if compiled is None:
            compiled = self._compiler.compile(self, pause)
            pause()  # compiling takes milliseconds
        compiled.check(payload, pause)

    @property
    def compiled(self) -> bool:
        return self._compiled is not None

    def use(self, compiled: CompiledSchema) -> bool:
        """Keep a compiled schema. Return False if one is kept already."""
        if self._compiled is not None:
            return False
        self._compiled = compiled
        return True

    def rest(self) -> None:
        """Drop the compiled schema."""
        self._compiled = None


class SchemaCompiler:
    """The compiler of active schemas. When all compiled schemas together are too large, it drops the
    schema that was compiled longest ago. Owner: the trio thread."""

    def __init__(self, most_bytes: int = COMPILED_BYTES) -> None:
        self._most_bytes = most_bytes
        self._compiled: deque[SchemaCheck] = deque()
        self._bytes = 0

    def compile(self, check: SchemaCheck, pause: Callable[[], None] = no_pause) -> CompiledSchema:
        """Compile the schema of `check`, and store the compiled schema in `check`. Calls `pause` between
        the steps of the compilation."""
        schema = check.schema
        try:
            document = json.loads(schema.document)
            bound_compiling(document, pause)
            compiled = CompiledSchema(document, schema.weight, pause)
        except Refusal as refusal:
            # The schema was accepted when it was created, but a newer library or a newer bound refuses
            # it. Its events are accepted unchecked. If they were refused, they could be lost; if the
            # schema were compiled all the same, it could block the loop for every tenant.
            log.exception(
                "schema.unusable",
                schema=schema.id,
                reason=refusal.message,
                effect="events of its type are accepted unchecked",
                action="create and activate a version of it that meets the bounds",
            )
            compiled = CompiledSchema(True, 1)
        if not check.use(compiled):
            return compiled
        self._compiled.append(check)
        self._bytes += len(schema.document)
        while self._bytes > self._most_bytes and len(self._compiled) > 1:
            oldest = self._compiled.popleft()
            oldest.rest()
            self._bytes -= len(oldest.schema.document)
        return compiled


class ActiveSchemas:
    """The active versions in this process's read models."""

    def __init__(self, models: Models, compiler: SchemaCompiler | None = None) -> None:
        self._models = models
        self._compiler = compiler or SchemaCompiler()
        self.types: set[tuple[int, str]] = set()  # environment and event type; other parts read it

    def put(self, environment: int, event_type: str, active: ActiveSchema | None) -> None:
        """Set the schema version that events of a type are checked against. With None, they are not
        checked."""
        present = self._models.check_of(environment, event_type)
        if active is None:
            self.types.discard((environment, event_type))
            if present is not None:
                self._models.put_check(environment, event_type, None)
        elif not isinstance(present, SchemaCheck) or present.schema.id != active.id:
            self.types.add((environment, event_type))
            check = SchemaCheck(active, self._compiler)
            self._models.put_check(environment, event_type, check)
