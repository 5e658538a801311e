"""The MCP server: tools, resources and prompts with which an agent operates Angarium.

One server serves one caller, and uses the caller's key for every call of the API. `exchange` serves `POST
/mcp`; `angarium mcp` serves standard input and output.
"""
