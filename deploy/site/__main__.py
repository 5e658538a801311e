"""The build of the documentation site: `python -m deploy.site FOLDER`."""

import logging
import os
import sys

os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")  # see decision 15

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort, MkDocsException


def main(folder: str) -> int:
    """Build the site into a folder. Return the exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    try:
        build(load_config("mkdocs.yml", strict=True, site_dir=folder))
    except (Abort, MkDocsException) as error:
        sys.stderr.write(f"The site was not built: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or [".site"]))
