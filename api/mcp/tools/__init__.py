"""All tools, in the order of their listing: first those that read, then those that change."""

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
