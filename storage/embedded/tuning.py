"""The configuration of the embedded PostgreSQL: every value that is not the default, with its reason."""

import os

KIB = 1024
MIB = 1024 * KIB

# The text of postgresql.conf, which an operator can extend. The file includes angarium.conf first, so
# that the operator's settings override Angarium's.
MAIN_FILE = """\
# Angarium writes angarium.conf anew at each start; settings of your own go below this line.
include = 'angarium.conf'
"""
# The configuration files of a restored server. They never come from the backup, because an attacker can
# have changed the backup. As after initdb, PostgreSQL trusts every account that can enter the folder of
# its socket.
CONFIGURATION = {
    "postgresql.conf": MAIN_FILE,
    "postgresql.auto.conf": "",
    "pg_hba.conf": "local all all trust\nlocal replication all trust\n",
    "pg_ident.conf": "",
    "angarium.conf": "",
}


def configuration(memory: int, *, durable: bool = True, servers: int = 1) -> str:
    """Return the text of angarium.conf. `memory`: the computer's memory in bytes. `servers`: the number
    of Angarium processes on the database. `durable=False` is for tests only."""
    buffers = min(max(memory // 16, 64 * MIB), 512 * MIB)
    # There are 40 connections for each Angarium process. The process uses 23 of them: three for the hot
    # path, one for the listener, one for upkeep, and pools of 6, 4, 4, 2 and 2. The rest is for commands
    # and operators. Tests need more connections, because several tests share one PostgreSQL server.
    connections = 40 * servers if durable else 200
    return f"""\
# Written by Angarium at each start: changes here are lost, see postgresql.conf.

# A sixteenth of the computer's memory, 64 to 512 MB: most reads are of recent partitions.
# The operating system caches files in the other memory.
shared_buffers = '{buffers // MIB}MB'
max_connections = {connections}
max_locks_per_transaction = 256 # a look at every partition of 30 days locks it and its indexes
autovacuum_max_workers = 2

# Durability: a 202 means that the event is on the disk.
fsync = {"on" if durable else "off"}
synchronous_commit = {"on" if durable else "off"}
full_page_writes = {"on" if durable else "off"}

# After a checkpoint, the first change of a page writes the whole page to the WAL, so checkpoints are rare
# and slow. After a crash, 1 GB of WAL is replayed in some ten seconds.
max_wal_size = '1GB'
min_wal_size = '128MB'
checkpoint_timeout = '15min'
wal_buffers = '16MB'

# Statements are short and read few rows: neither compilation nor parallel workers would help.
jit = off
max_parallel_workers_per_gather = 0
max_worker_processes = 4
max_wal_senders = 2             # for pg_basebackup
max_replication_slots = 2
random_page_cost = 1.1          # solid state

# The server listens only on its socket, in a folder that only its owner can enter.
listen_addresses = ''
unix_socket_permissions = 0700

timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
log_destination = 'stderr'
log_line_prefix = '%m [%p] %a '
log_checkpoints = on
log_lock_waits = on
# No keys or payloads in the server's messages: DETAIL lines would quote rows, STATEMENT lines scripts.
log_error_verbosity = terse
log_min_error_statement = panic
"""


def memory_of_machine() -> int:
    """Return the memory of this computer in bytes, or the limit of its container if that is lower."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            return min(whole, int(file.read()))
    except (OSError, ValueError):  # not Linux, another cgroup version, or "max"
        return whole
