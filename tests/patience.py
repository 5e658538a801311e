"""How long a test waits for what surely comes, before it says that the test hangs.

It measures nothing. Machines are busy, and other tests run beside: seconds become a minute there.
"""

HANGS_S = 240.0
