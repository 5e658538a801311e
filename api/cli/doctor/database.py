"""The checks of the database, and of the key for its secrets."""

import time
from pathlib import Path

import trio

from api.cli.doctor.finding import Finding, failure, ok, warning
from engine.ports import StoreAwayError, StoreError
from engine.settings import PREFIX, Settings
from storage.configuration.destinations import Destinations
from storage.database.bridge import Pool, open_bridge
from storage.database.pooling import require_sessions
from storage.embedded.server import EmbeddedError, running_url
from storage.encryption.key_file import KEY_FILE, open_secret_box
from storage.encryption.secretbox import SecretBoxError
from storage.migrations.migrate import known_migrations

ANSWER_S = 10.0
OLDEST_VERSION = 15
CLOCK_DRIFT_S = 5.0


async def check_database(settings: Settings) -> list[Finding]:
    """Check the database. If the embedded database is not running, do not start it."""
    if settings.database_url is None:
        try:
            url = await trio.to_thread.run_sync(running_url, settings.data_dir)
        except (OSError, EmbeddedError) as error:
            return [failure("database", f"embedded: {error}", "see the data folder")]
        if url is None:
            return [_at_rest(settings.data_dir)]
    else:
        url = settings.database_url
    try:
        with trio.fail_after(ANSWER_S):
            async with open_bridge(url) as bridge:
                async with bridge.pool.connection() as one, bridge.pool.connection() as other:
                    pooled = await require_sessions(one, other)
                answers = await _ask(bridge.pool)
                if pooled:
                    answers.append(ok("database", "behind a pooler in session mode"))
                return [*answers, *await _secrets(bridge.pool, settings)]
    except (trio.TooSlowError, StoreAwayError) as error:
        what = str(error) or f"no answer within {ANSWER_S:g} s"
        remedy = f"check the address, name, password and firewall of {PREFIX}DATABASE_URL"
        return [failure("database", f"cannot be reached: {what}", remedy)]
    except (StoreError, ValueError) as error:
        return [failure("database", str(error), f"see {PREFIX}DATABASE_URL")]


def _at_rest(data_dir: Path) -> Finding:
    if (data_dir / "postgres" / "PG_VERSION").exists():
        return ok("database", "embedded; not running now, starts with the server")
    return ok("database", "embedded; created at the first start")


async def _ask(pool: Pool) -> list[Finding]:
    findings = []
    number = int(await pool.fetch_value("SELECT current_setting('server_version_num')"))
    if number // 10_000 < OLDEST_VERSION:
        findings.append(
            failure(
                "database",
                f"PostgreSQL {number // 10_000} is too old",
                f"use {OLDEST_VERSION} or newer",
            )
        )
    else:
        findings.append(ok("database", f"PostgreSQL {number // 10_000} answers"))
    encoding = await pool.fetch_value("SELECT current_setting('server_encoding')")
    if encoding != "UTF8":
        findings.append(
            failure("database", f"its encoding is {encoding}", "create it with ENCODING 'UTF8'")
        )
    findings.append(await _rights(pool))
    findings.append(await _tables(pool))
    drift = time.time() - float(
        await pool.fetch_value("SELECT extract(epoch FROM clock_timestamp())")
    )
    if abs(drift) > CLOCK_DRIFT_S:
        findings.append(
            warning("clock", f"{abs(drift):.0f} s apart from the database's", "keep both by NTP")
        )
    return findings


async def _rights(pool: Pool) -> Finding:
    allowed = await pool.fetch_value("SELECT has_schema_privilege(current_schema(), 'CREATE')")
    if not allowed:
        return failure(
            "database",
            "this account cannot create tables",
            "GRANT CREATE, USAGE ON SCHEMA public TO it (not a default since PostgreSQL 15)",
        )
    standby = await pool.fetch_value("SELECT pg_is_in_recovery()")
    if standby:
        return failure("database", "it is a read-only standby", "use the primary's address")
    return ok("database", "this account can create tables")


async def _tables(pool: Pool) -> Finding:
    if not await pool.fetch_value("SELECT to_regclass('schema_migrations') IS NOT NULL"):
        return ok("tables", "none yet: created at the first start")
    applied = int(await pool.fetch_value("SELECT count(*) FROM schema_migrations"))
    wanted = len(known_migrations())
    if applied > wanted:
        return failure(
            "tables",
            f"of a newer Angarium ({applied} migrations, this version has {wanted})",
            "start the newer version",
        )
    if applied < wanted:
        return ok("tables", f"{wanted - applied} migrations will be applied at the next start")
    return ok("tables", "of this version")


async def _secrets(pool: Pool, settings: Settings) -> list[Finding]:
    """Check the oldest and the newest destination's secret."""
    key_file = settings.data_dir / KEY_FILE
    if settings.master_key is None and not key_file.exists():
        return []  # this check creates no key
    if not await pool.fetch_value("SELECT to_regclass('destinations') IS NOT NULL"):
        return []
    rows = await pool.fetch(
        "(SELECT id::text FROM destinations ORDER BY id LIMIT 1) UNION "
        "(SELECT id::text FROM destinations ORDER BY id DESC LIMIT 1)"
    )
    own = settings.database_url is not None
    try:
        box = open_secret_box(
            settings.master_key,
            settings.data_dir,
            own_database=own,
            key_file=settings.master_key_file,
        )
        for row in rows:
            await Destinations(pool, box).find(row["id"])
    except SecretBoxError as error:
        remedy = "restore the key that was used with this database"
        return [failure("master key", f"does not open the database's secrets: {error}", remedy)]
    return [ok("master key", "opens the database's secrets")] if rows else []
