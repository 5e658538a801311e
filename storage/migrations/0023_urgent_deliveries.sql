-- Lists by priority. A STANDARD delivery has no entry; no update changes a priority.
CREATE INDEX deliveries_urgent ON deliveries (environment, priority, id) WHERE priority > 1;
