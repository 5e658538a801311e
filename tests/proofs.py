"""The long proofs: few tests, which take as long as all others together.

Each tries very many cases, or runs whole programs. `make prove` runs them, `make test` all others, and
`.ci/run` both. A file comes here when its tests take ten seconds of a quiet machine.
"""

PROOFS = (
    "tests/bench/test_hostile.py",  # a row of the worst inputs, at a real server
    "tests/bench/test_own_server.py",  # load by the command that users have, on a whole server
    "tests/bench/test_scenarios.py",  # every scenario of the bench, against real servers
    "tests/browser/test_crowds.py",  # thousands of deliveries on the console's pages
    "tests/browser/test_figures.py",  # the console's figures, with few deliveries in the tables
    "tests/chaos/test_chaos.py",  # a round of kills, cuts and crowds
    "tests/cli/test_commands.py",  # commands of a user, each a program, beside servers of their own
    "tests/clients/test_runtimes.py",  # the TypeScript client under Deno and Bun
    "tests/core/test_histories.py",  # random histories of the machine
    "tests/core/test_model.py",  # the machine beside its model
    "tests/engine/test_filters_equal.py",  # filters beside the library that defines them
    "tests/fuzz/test_dearest.py",  # the dearest input of each door, looked for
    "tests/fuzz/test_patterns.py",  # the steps of each regular expression
    "tests/generated/test_clients.py",  # clients by six generators, each compiled and run
    "tests/generated/test_lint.py",  # the document under Spectral and Redocly
    "tests/neighbours/test_names.py",  # name servers that never answer
    "tests/packages/test_deploy.py",  # image, compose file, chart and unit, judged by tools of their own
    "tests/packages/test_installed.py",  # wheels built, installed and used as a stranger would
    "tests/packages/test_installers.py",  # the server by pip, uvx and pipx, from nothing
    "tests/packages/test_moving.py",  # every module, with its imports rewritten for the wheel
    "tests/packages/test_prometheus.py",  # a real Prometheus that scrapes a server
    "tests/packages/test_proxies.py",  # nginx and HAProxy in front of a server
    "tests/packages/test_receivers.py",  # receivers in five languages, built and sent to
    "tests/process/test_backup.py",  # a backup under load, restored
    "tests/process/test_changes.py",  # changes of the configuration under load
    "tests/process/test_cluster.py",  # two machines under load, drained and killed
    "tests/process/test_control.py",  # changes of destinations, by what a server's receivers see
    "tests/process/test_database.py",  # trouble with the database under load
    "tests/process/test_files.py",  # kills while files come and go
    "tests/process/test_kills.py",  # kills while events are accepted and delivered
    "tests/process/test_kills_second.py",  # kills while replays and requeued deliveries are under way
    "tests/process/test_plain_asgi.py",  # the application under Hypercorn, and operations beside it
    "tests/process/test_standby.py",  # real servers, killed, stopped, frozen and joined again
    "tests/process/test_starts.py",  # starts in every situation, each with a server of its own
    "tests/process/test_stops.py",  # stops of a server at every step of its life
    "tests/process/test_traces.py",  # traces across kills
    "tests/process/test_two_servers.py",  # a second server on one database, and on one address
    "tests/process/test_workers.py",  # workers under load, one of them killed
    "tests/service/test_answer_sizes.py",  # the largest answer of every endpoint
    "tests/service/test_change_steps.py",  # the lines of each step, for the largest thing of each change
    "tests/service/test_examples.py",  # every example of the API reference, by curl
    "tests/service/test_live_steps.py",  # the lines of each step, beside 50,000 actors
    "tests/service/test_master_key.py",  # master keys changed while deliveries go on
    "tests/service/test_matrix.py",  # every route by every kind of credential
    "tests/service/test_schemathesis.py",  # thousands of requests that Schemathesis makes of the document
    "tests/service/test_steps.py",  # the lines of each step, for the worst input of each route
    "tests/service/test_stream.py",  # streams of what happens, until their ends
    "tests/sim/test_determinism.py",  # simulated histories in several processes
    "tests/sim/test_mutants.py",  # a simulated history for each planted bug
    "tests/sim/test_seeds.py",  # simulated histories
    "tests/storage/test_plans_million.py",  # plans of every list over a million rows
    "tests/test_readme.py",  # the README's commands and tutorial, as they are written
    "tests/transforms/test_hostile.py",  # a thousand hostile scripts
    "tests/upgrade/test_rolling.py",  # the release before gives over to this one under load
    "tests/upgrade/test_rolling_nodes.py",  # one release gives way to the next under load
)
MARK = "prove"


def is_proof(nodeid: str) -> bool:
    """Return whether a test is one of a long proof."""
    return nodeid.partition("::")[0] in PROOFS


def lane_of(chosen: str) -> bool | None:
    """Return whether a value of `-m` asks for proofs alone, or for none; None if for something else."""
    return {MARK: True, f"not {MARK}": False}.get(chosen)
