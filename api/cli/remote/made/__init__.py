# Made of the API's routes by `python -m api.generation`; do not edit.
"""The groups of plain commands, and their short helps."""

GROUPS = {
    "events": "List events.",
    "files": "List files.",
    "destinations": "List destinations.",
    "templates": "List the catalog of templates.",
    "rules": "List routing rules.",
    "schemas": "List versions of event schemas.",
    "transforms": "List a destination's transform scripts.",
    "deliveries": "List deliveries.",
    "dlq": "List the dead-letter queue.",
    "replay": "List replay jobs.",
    "workspace": "Show the workspace.",
    "embed": "Show the data of a portal.",
    "customers": "List customers.",
    "observability": "Show an environment's counters over a period.",
    "audit": "List changes of configuration.",
    "nodes": "List the servers of this installation.",
    "auth": "Show the identity of a credential.",
}
