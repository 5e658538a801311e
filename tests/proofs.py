"""The long proofs: few tests, which take as long as all others together.

Each proof tries very many cases or runs whole programs. `make prove` runs the proofs, `make test` all
other tests, and `.ci/run` both. A file belongs here if its tests take ten seconds on a quiet computer.
"""

PROOFS = (
    "tests/actors/test_interleavings.py",  # random histories of actors, crashes and an absent store
    "tests/bench/test_hostile.py",
    "tests/bench/test_own_server.py",  # the load command that users have, against a whole server
    "tests/bench/test_scenarios.py",
    "tests/browser/test_crowds.py",  # thousands of deliveries on the console's pages
    "tests/browser/test_figures.py",
    "tests/browser/test_pages.py",  # every page, also on a telephone, dark and in German
    "tests/chaos/test_chaos.py",
    "tests/cli/test_commands.py",
    "tests/clients/test_runtimes.py",
    "tests/core/test_histories.py",
    "tests/core/test_model.py",
    "tests/engine/test_filters_equal.py",  # filters compared with the library that defines them
    "tests/fuzz/test_dearest.py",
    "tests/fuzz/test_patterns.py",
    "tests/generated/test_clients.py",  # six generators, each client compiled and run
    "tests/generated/test_lint.py",  # Spectral and Redocly
    "tests/neighbours/test_names.py",
    "tests/packages/test_deploy.py",  # image, compose file, chart and unit, checked by their own tools
    "tests/packages/test_installed.py",  # wheels built, installed and used from outside the repository
    "tests/packages/test_installers.py",  # by pip, uvx and pipx
    "tests/packages/test_moving.py",
    "tests/packages/test_prometheus.py",  # a real Prometheus
    "tests/packages/test_proxies.py",  # nginx and HAProxy
    "tests/packages/test_receivers.py",  # in five languages
    "tests/process/test_backup.py",
    "tests/process/test_changes.py",
    "tests/process/test_cluster.py",
    "tests/process/test_control.py",
    "tests/process/test_database.py",
    "tests/process/test_files.py",
    "tests/process/test_kills.py",
    "tests/process/test_kills_second.py",
    "tests/process/test_plain_asgi.py",  # the application under Hypercorn, with operations beside it
    "tests/process/test_standby.py",  # real servers, killed, stopped, frozen and joined again
    "tests/process/test_starts.py",  # starts in every situation, each with a server of its own
    "tests/process/test_stops.py",  # at every step of a server's life
    "tests/process/test_traces.py",  # across kills
    "tests/process/test_two_servers.py",  # a second server on one database, and on one address
    "tests/process/test_workers.py",
    "tests/service/test_answer_sizes.py",  # the largest answer of every endpoint
    # the lines that each step runs
    "tests/service/test_change_steps.py",
    "tests/service/test_endpoints.py",  # every status of every endpoint
    "tests/service/test_examples.py",  # by curl
    "tests/service/test_live_steps.py",  # the lines that each step runs, beside 42,000 actors
    "tests/service/test_malformed.py",  # the book of malformed requests
    "tests/service/test_master_key.py",
    "tests/service/test_matrix.py",
    "tests/service/test_schemathesis.py",
    "tests/service/test_steps.py",  # the lines that each step runs, for the worst input of each route
    "tests/service/test_stream.py",
    "tests/sim/test_determinism.py",
    "tests/sim/test_mutants.py",  # a simulated history for each planted bug
    "tests/sim/test_seeds.py",
    "tests/storage/test_embedded.py",  # PostgreSQL set up, ended, killed and taken over
    "tests/storage/test_plans_million.py",  # query plans of every list over a million rows
    "tests/storage/test_replay_crashes.py",  # a replay job, killed at each of its steps
    "tests/test_readme.py",
    "tests/transforms/test_hostile.py",  # a thousand hostile scripts
    "tests/upgrade/test_rolling.py",  # the previous release replaced by this one under load
    "tests/upgrade/test_rolling_nodes.py",  # one release replaced by the next under load
)
MARK = "prove"


def is_proof(nodeid: str) -> bool:
    return nodeid.partition("::")[0] in PROOFS


def lane_of(chosen: str) -> bool | None:
    """Return True if pytest's option `-m` selects only proofs, and False if it selects no proof.

    Returns None if the option has any other value.
    """
    return {MARK: True, f"not {MARK}": False}.get(chosen)
