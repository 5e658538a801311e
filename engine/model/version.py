"""The version of the running service."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("angarium")
except PackageNotFoundError:  # run from a checkout without an installation
    VERSION = "0"
