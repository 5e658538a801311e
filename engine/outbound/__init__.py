"""What an attempt sends: the event's body as it is, or files, transform and template on the way."""

from engine.outbound.sender import OutboundSender

__all__ = ["OutboundSender"]
