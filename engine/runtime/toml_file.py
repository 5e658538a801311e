"""The strict reader of TOML files that the operator writes: an error names its place in the file."""

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

Shape = TypeVar("Shape", bound=BaseModel)


def read(path: Path, shape: type[Shape]) -> Shape:
    """Return the content of a TOML file. Raises ValueError, whose message does not name the file: the
    caller adds the file's name."""
    try:
        return shape.model_validate(tomllib.loads(path.read_text("utf-8")))
    except OSError as error:
        raise ValueError(error.strerror) from error
    except RecursionError as error:  # lists nested too deep
        raise ValueError("is nested too deep") from error
    except ValidationError as error:
        raise ValueError(faults(error)) from None


def faults(error: ValidationError) -> str:
    """Return all faults with their places, in pydantic's words."""
    return "; ".join(
        f"{'.'.join(str(part) for part in found['loc'] if part != '[key]')}: {found['msg']}"
        for found in error.errors()
    )
