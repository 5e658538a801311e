"""The long proofs: few tests, which take as long as all others together.

Each proof tries very many cases or runs whole programs. `make prove` runs the proofs, `make test` all
other tests, and `.ci/run` both. A file belongs here if its tests take ten seconds on a quiet machine.
"""

PROOFS = (
    "tests/actors/test_interleavings.py",  # random histories of actors, crashes and an absent store
    "tests/bench/test_hostile.py",  # the worst inputs, sent to a real server
    "tests/bench/test_own_server.py",  # the load command that users have, against a whole server
    "tests/bench/test_scenarios.py",  # every scenario of the bench, against real servers
    "tests/browser/test_crowds.py",  # thousands of deliveries on the console's pages
    "tests/browser/test_figures.py",  # the console's figures, with few deliveries in the tables
    "tests/chaos/test_chaos.py",  # a round of kills, cuts and crowds
    "tests/cli/test_commands.py",  # a user's commands, each a program, with servers of their own
    "tests/clients/test_runtimes.py",  # the TypeScript client under Deno and Bun
    "tests/core/test_histories.py",  # random histories of the machine
    "tests/core/test_model.py",  # the machine compared with its model
    "tests/engine/test_filters_equal.py",  # filters compared with the library that defines them
    "tests/fuzz/test_dearest.py",  # a search for the most expensive input of each door
    "tests/fuzz/test_patterns.py",  # the steps of each regular expression
    "tests/generated/test_clients.py",  # clients by six generators, each compiled and run
    "tests/generated/test_lint.py",  # the OpenAPI document under Spectral and Redocly
    "tests/neighbours/test_names.py",  # name servers that never answer
    "tests/packages/test_deploy.py",  # image, compose file, chart and unit, checked by their own tools
    "tests/packages/test_installed.py",  # wheels built, installed and used from outside the repository
    "tests/packages/test_installers.py",  # the server installed by pip, uvx and pipx
    "tests/packages/test_moving.py",  # every module, with its imports rewritten for the wheel
    "tests/packages/test_prometheus.py",  # a real Prometheus that scrapes a server
    "tests/packages/test_proxies.py",  # nginx and HAProxy in front of a server
    "tests/packages/test_receivers.py",  # receivers in five languages, built and called
    "tests/process/test_backup.py",  # a backup under load, restored
    "tests/process/test_changes.py",  # changes of the configuration under load
    "tests/process/test_cluster.py",  # two machines under load, drained and killed
    "tests/process/test_control.py",  # changes of destinations, as a server's receivers see them
    "tests/process/test_database.py",  # trouble with the database under load
    "tests/process/test_files.py",  # kills while files are sent and received
    "tests/process/test_kills.py",  # kills while events are accepted and delivered
    "tests/process/test_kills_second.py",  # kills during replays and requeued deliveries
    "tests/process/test_plain_asgi.py",  # the application under Hypercorn, with operations beside it
    "tests/process/test_standby.py",  # real servers, killed, stopped, frozen and joined again
    "tests/process/test_starts.py",  # starts in every situation, each with a server of its own
    "tests/process/test_stops.py",  # stops of a server at every step of its life
    "tests/process/test_traces.py",  # traces across kills
    "tests/process/test_two_servers.py",  # a second server on one database, and on one address
    "tests/process/test_workers.py",  # workers under load, one of them killed
    "tests/service/test_answer_sizes.py",  # the largest answer of every endpoint
    # the lines that each step runs when a change affects the largest object
    "tests/service/test_change_steps.py",
    "tests/service/test_examples.py",  # every example of the API reference, by curl
    "tests/service/test_live_steps.py",  # the lines that each step runs, beside 50,000 actors
    "tests/service/test_master_key.py",  # changes of the master key during deliveries
    "tests/service/test_matrix.py",  # every route with every kind of credential
    # Thousands of requests that Schemathesis makes from the document.
    "tests/service/test_schemathesis.py",
    "tests/service/test_steps.py",  # the lines that each step runs, for the worst input of each route
    "tests/service/test_stream.py",  # event streams until their ends
    "tests/sim/test_determinism.py",  # simulated histories in several processes
    "tests/sim/test_mutants.py",  # a simulated history for each planted bug
    "tests/sim/test_seeds.py",  # simulated histories
    "tests/storage/test_embedded.py",  # PostgreSQL set up, ended, killed and taken over
    "tests/storage/test_plans_million.py",  # query plans of every list over a million rows
    "tests/storage/test_replay_crashes.py",  # a replay job, killed at each of its steps
    "tests/test_readme.py",  # the README's commands and tutorial, as they are written
    "tests/transforms/test_hostile.py",  # a thousand hostile scripts
    "tests/upgrade/test_rolling.py",  # the previous release replaced by this one under load
    "tests/upgrade/test_rolling_nodes.py",  # one release replaced by the next under load
)
MARK = "prove"


def is_proof(nodeid: str) -> bool:
    """Return True if a test belongs to a long proof."""
    return nodeid.partition("::")[0] in PROOFS


def lane_of(chosen: str) -> bool | None:
    """Return True if a value of `-m` selects only proofs, False if it selects none, None for any other
    value."""
    return {MARK: True, f"not {MARK}": False}.get(chosen)
