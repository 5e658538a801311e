"""The CEL library without its command line.

The package `cel` imports its command line, and with it prompt_toolkit and Pygments: a tenth of the CPU
time of all that a server imports. An empty module takes its place during the import.
"""

import sys
from types import ModuleType

_COMMAND_LINE = "cel.cli"
_EMPTY = ModuleType(_COMMAND_LINE)

sys.modules.setdefault(_COMMAND_LINE, _EMPTY)
try:
    import cel
finally:
    if sys.modules[_COMMAND_LINE] is _EMPTY:
        del sys.modules[_COMMAND_LINE]  # a later import finds the real module

__all__ = ["cel"]
