"""The path of an attempt from its event to the wire: files, transform script, template, token."""

from engine.outbound.sender import OutboundSender

__all__ = ["OutboundSender"]
