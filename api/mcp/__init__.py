"""The MCP server: tools, resources and prompts with which an agent runs Angarium.

One server serves one caller, whose key it uses for every call of the API. So admission, scopes, rates and
the audit log hold for an agent as they do for every other client. `exchange` speaks HTTP for
`POST /mcp`, `angarium mcp` speaks over standard input and output.
"""
