"""The list of all tools, in the order of their listing."""

from api.mcp.tool import Tool
from api.mcp.tools import dead_letters, deliveries, destinations, events, replays, trouble

TOOLS: tuple[Tool, ...] = (
    *trouble.TOOLS,
    *events.TOOLS,
    *destinations.TOOLS,
    *deliveries.TOOLS,
    *dead_letters.TOOLS,
    *replays.TOOLS,
)
