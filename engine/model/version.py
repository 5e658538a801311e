"""The version of the service that runs."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("angarium")
except PackageNotFoundError:  # run from a checkout that was never installed
    VERSION = "0"
