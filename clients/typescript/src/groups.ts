// Made of the API's routes by `python -m api.generation`; do not edit.
/** The attributes of the client: its groups of methods. */

import * as resources from "./handwritten.js";
import type { Transport } from "./transport.js";

export abstract class Groups {
  readonly events: resources.EventsResource;
  readonly files: resources.FilesResource;
  readonly destinations: resources.DestinationsResource;
  readonly templates: resources.TemplatesResource;
  readonly routingRules: resources.RoutingRulesResource;
  readonly schemas: resources.SchemasResource;
  readonly transformScripts: resources.TransformScriptsResource;
  readonly deliveries: resources.DeliveriesResource;
  readonly dlq: resources.DlqResource;
  readonly replayJobs: resources.ReplayJobsResource;
  readonly apiKeys: resources.ApiKeysResource;
  readonly workspace: resources.WorkspaceResource;
  readonly embedSessions: resources.EmbedSessionsResource;
  readonly customers: resources.CustomersResource;
  readonly observability: resources.ObservabilityResource;
  readonly auditLogs: resources.AuditLogsResource;
  readonly nodes: resources.NodesResource;

  constructor(transport: Transport) {
    this.events = new resources.EventsResource(transport);
    this.files = new resources.FilesResource(transport);
    this.destinations = new resources.DestinationsResource(transport);
    this.templates = new resources.TemplatesResource(transport);
    this.routingRules = new resources.RoutingRulesResource(transport);
    this.schemas = new resources.SchemasResource(transport);
    this.transformScripts = new resources.TransformScriptsResource(transport);
    this.deliveries = new resources.DeliveriesResource(transport);
    this.dlq = new resources.DlqResource(transport);
    this.replayJobs = new resources.ReplayJobsResource(transport);
    this.apiKeys = new resources.ApiKeysResource(transport);
    this.workspace = new resources.WorkspaceResource(transport);
    this.embedSessions = new resources.EmbedSessionsResource(transport);
    this.customers = new resources.CustomersResource(transport);
    this.observability = new resources.ObservabilityResource(transport);
    this.auditLogs = new resources.AuditLogsResource(transport);
    this.nodes = new resources.NodesResource(transport);
  }
}
