"""Checks of what the operator declares beside the settings, read by the functions that a server uses."""

from api.cli.doctor.finding import Finding, failure, ok
from engine.files.ports import BlobsAwayError
from engine.plans.file import PlansFileError, plans_of
from engine.settings import PREFIX, Settings
from engine.templates.catalog import catalog_of
from engine.templates.reading import TemplateFileError
from engine.wire.tls import AuthoritiesError, client_context
from storage.files.blobs import FileStoreError, open_blobs, try_store


def check_plans(settings: Settings) -> Finding:
    """See whether a server can read the plans."""
    try:
        plans = plans_of(settings)
    except PlansFileError as error:
        return failure("plans", str(error), f"mend the file, or see {PREFIX}PLANS_FILE")
    return ok("plans", ", ".join(plans))


def check_templates(settings: Settings) -> Finding:
    """See whether a server can read the destination templates, and knows those that get further hosts."""
    try:
        catalog = catalog_of(settings)
    except TemplateFileError as error:
        remedy = f"mend it, or see {PREFIX}TEMPLATES_DIR and {PREFIX}TEMPLATE_HOSTS"
        return failure("templates", str(error), remedy)
    return ok("templates", f"{len(catalog.all())} can be used")


def check_authorities(settings: Settings) -> Finding:
    """See whether the authorities of receivers' certificates can be read."""
    try:
        client_context(settings.egress_ca)
    except AuthoritiesError as error:
        return failure("authorities", str(error), f"see {PREFIX}EGRESS_CA")
    also = "" if settings.egress_ca is None else f", and those in {settings.egress_ca}"
    return ok("authorities", f"receivers' certificates may be of the system's{also}")


def check_file_store(settings: Settings) -> Finding:
    """See whether the file store takes what a server keeps there: a few bytes, which are removed."""
    if settings.file_store is None:
        return ok("file store", "in the data folder")
    try:
        open_blobs(settings.file_store, settings.data_dir)
        try_store(settings.file_store)
    except FileStoreError as error:
        return failure("file store", str(error), f"see {PREFIX}FILE_STORE")
    except BlobsAwayError as error:
        return failure("file store", str(error), f"see the endpoint in {PREFIX}FILE_STORE")
    return ok("file store", "it takes objects and removes them")
