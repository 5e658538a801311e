"""The audit log, and the notifications that tell other processes of a change."""
