"""User-mode Linux: built once from Debian's kernel source, then kept in the cache."""
from pathlib import Path

from .terminal import LabError


def require_built() -> Path:
    raise LabError("user-mode Linux is not built yet: run `lab/radio-lab build-uml` once")
