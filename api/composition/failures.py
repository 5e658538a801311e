"""The known failures of a server: the message for an operator, and the exit code."""

from api.door.tls import CertificateError
from engine.actors.supervisor import GivenUpError
from engine.nodes.liveness import NameTakenError
from engine.plans.file import PlansFileError
from engine.settings import PREFIX
from engine.templates.reading import TemplateFileError
from engine.tracing.opening import TracingError
from engine.wire.tls import AuthoritiesError
from storage.database.errors import OwnershipLostError, StoreError
from storage.embedded.server import EmbeddedError
from storage.encryption.secretbox import SecretBoxError
from storage.files.blobs import FileStoreError
from storage.nodes.cluster import PartsError

EXIT_FAILED, EXIT_SETTINGS, EXIT_DATABASE = 1, 2, 3


class ListenError(Exception):
    """The server cannot listen on the address."""

    def __init__(self, setting: str, address: str, error: OSError) -> None:
        reason = error.strerror or str(error)
        super().__init__(
            f"cannot listen on {address}: {reason}."
            f" Give another address with {PREFIX}{setting.upper()}, or end the program that uses this one"
        )


_CODES: dict[type[Exception], int] = {  # the first match counts
    SecretBoxError: EXIT_SETTINGS,
    ListenError: EXIT_SETTINGS,
    CertificateError: EXIT_SETTINGS,
    AuthoritiesError: EXIT_SETTINGS,
    PlansFileError: EXIT_SETTINGS,
    TemplateFileError: EXIT_SETTINGS,
    FileStoreError: EXIT_SETTINGS,
    TracingError: EXIT_SETTINGS,
    OwnershipLostError: EXIT_FAILED,
    EmbeddedError: EXIT_DATABASE,
    StoreError: EXIT_DATABASE,
    PartsError: EXIT_SETTINGS,
    NameTakenError: EXIT_SETTINGS,
    GivenUpError: EXIT_FAILED,
    OSError: EXIT_SETTINGS,
}


def known_failure(error: Exception) -> tuple[BaseException, int] | None:
    """If the failure is a known one, return the error whose message is for the operator, and the exit
    code. Otherwise the failure is a bug: return None, so that its traceback is printed."""
    cause = _cause(error)
    for kind, code in _CODES.items():
        if isinstance(cause, kind):
            return cause, code
    return None


def _cause(error: BaseException) -> BaseException:
    """Return the error that names the cause of `error`. If `error` is an exception group of one error,
    look at the error in the group. If this error is a GivenUpError that a StoreError or a ListenError
    caused, return the StoreError or the ListenError. Otherwise return this error itself."""
    error = sole_error(error)
    if isinstance(error, GivenUpError) and isinstance(error.__cause__, (StoreError, ListenError)):
        return error.__cause__
    return error


def sole_error(error: BaseException) -> BaseException:
    """If `error` is an exception group of one error, return the error in the group. If this error is
    again a group of one error, return the error in that group, and so on. Otherwise return `error`."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
