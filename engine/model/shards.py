"""Which of the 256 shards a destination belongs to. A shard belongs to one process."""

SHARDS = 256


def shard_of(destination: str) -> int:
    """Return the shard of a destination id: the last byte of its UUID, which is random."""
    return int(destination[-2:], 16)
