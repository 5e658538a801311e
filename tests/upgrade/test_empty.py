"""Commands that use the database directly, on a database in which no server has created tables yet. The
commands must not change this database."""

from pathlib import Path

from storage.database.bridge import open_bridge
from tests.cli.programs import angarium, environment


async def test_commands_make_no_tables(empty_url: str, tmp_path: Path) -> None:
    env = environment(empty_url, tmp_path)
    made = await angarium(
        *("keys", "create", "--environment", "DEVELOPMENT", "--scope", "manage"),
        *("--output", "text"),
        env=env,
    )
    assert made.code == 1
    assert "start the server once" in made.err
    async with open_bridge(empty_url) as bridge:
        tables = await bridge.pool.fetch_value(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        )
    assert tables == 0
