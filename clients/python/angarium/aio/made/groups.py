# Made of the API's routes by `python -m api.generation`; do not edit.
"""The attributes of the client: its groups of methods."""

from angarium.aio.destinations import AsyncDestinations
from angarium.aio.events import AsyncEvents
from angarium.aio.files import AsyncFiles
from angarium.aio.made.api_keys import AsyncApiKeys
from angarium.aio.made.audit_logs import AsyncAuditLogs
from angarium.aio.made.customers import AsyncCustomers
from angarium.aio.made.deliveries import AsyncDeliveries
from angarium.aio.made.dlq import AsyncDlq
from angarium.aio.made.embed_sessions import AsyncEmbedSessions
from angarium.aio.made.nodes import AsyncNodes
from angarium.aio.made.routing_rules import AsyncRoutingRules
from angarium.aio.made.schemas import AsyncSchemas
from angarium.aio.made.templates import AsyncTemplates
from angarium.aio.made.transform_scripts import AsyncTransformScripts
from angarium.aio.made.workspace import AsyncWorkspaceMethods
from angarium.aio.observability import AsyncObservability
from angarium.aio.replay_jobs import AsyncReplayJobs
from angarium.aio.resource import AsyncRead, AsyncSend


class AsyncGroups:
    """The base of the client."""

    def __init__(self, send: AsyncSend, read: AsyncRead) -> None:
        self.events = AsyncEvents(send, read)
        self.files = AsyncFiles(send, read)
        self.destinations = AsyncDestinations(send, read)
        self.templates = AsyncTemplates(send, read)
        self.routing_rules = AsyncRoutingRules(send, read)
        self.schemas = AsyncSchemas(send, read)
        self.transform_scripts = AsyncTransformScripts(send, read)
        self.deliveries = AsyncDeliveries(send, read)
        self.dlq = AsyncDlq(send, read)
        self.replay_jobs = AsyncReplayJobs(send, read)
        self.api_keys = AsyncApiKeys(send, read)
        self.workspace = AsyncWorkspaceMethods(send, read)
        self.embed_sessions = AsyncEmbedSessions(send, read)
        self.customers = AsyncCustomers(send, read)
        self.observability = AsyncObservability(send, read)
        self.audit_logs = AsyncAuditLogs(send, read)
        self.nodes = AsyncNodes(send, read)
