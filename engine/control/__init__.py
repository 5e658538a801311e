"""Control-plane commands: one validated write each, with its audit entry and its read model."""
