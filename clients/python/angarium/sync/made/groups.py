# Made of the API's routes by `python -m api.generation`; do not edit.
"""The attributes of the client: its groups of methods."""

from angarium.sync.destinations import Destinations
from angarium.sync.events import Events
from angarium.sync.files import Files
from angarium.sync.made.api_keys import ApiKeys
from angarium.sync.made.audit_logs import AuditLogs
from angarium.sync.made.customers import Customers
from angarium.sync.made.deliveries import Deliveries
from angarium.sync.made.dlq import Dlq
from angarium.sync.made.embed_sessions import EmbedSessions
from angarium.sync.made.nodes import Nodes
from angarium.sync.made.routing_rules import RoutingRules
from angarium.sync.made.schemas import Schemas
from angarium.sync.made.templates import Templates
from angarium.sync.made.transform_scripts import TransformScripts
from angarium.sync.made.workspace import WorkspaceMethods
from angarium.sync.observability import Observability
from angarium.sync.replay_jobs import ReplayJobs
from angarium.sync.resource import Read, Send


class Groups:
    """The base of the client."""

    def __init__(self, send: Send, read: Read) -> None:
        self.events = Events(send, read)
        self.files = Files(send, read)
        self.destinations = Destinations(send, read)
        self.templates = Templates(send, read)
        self.routing_rules = RoutingRules(send, read)
        self.schemas = Schemas(send, read)
        self.transform_scripts = TransformScripts(send, read)
        self.deliveries = Deliveries(send, read)
        self.dlq = Dlq(send, read)
        self.replay_jobs = ReplayJobs(send, read)
        self.api_keys = ApiKeys(send, read)
        self.workspace = WorkspaceMethods(send, read)
        self.embed_sessions = EmbedSessions(send, read)
        self.customers = Customers(send, read)
        self.observability = Observability(send, read)
        self.audit_logs = AuditLogs(send, read)
        self.nodes = Nodes(send, read)
