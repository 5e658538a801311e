"""The CEL library without its command line.

The package `cel` imports its command line, which imports prompt_toolkit and Pygments. These imports would
take a tenth of the CPU time of all imports of a server. To avoid them, this module puts an empty module
in the place of `cel.cli` while it imports `cel`.
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
