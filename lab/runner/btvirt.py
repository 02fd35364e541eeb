"""btvirt, the virtual controllers, with what makes its reports of advertisements late enough: guest/late-reports.c."""
import hashlib
import subprocess
from pathlib import Path

from . import cache
from .debian import LAB
from .terminal import LabError

SOURCE = LAB / "guest" / "late-reports.c"


def command(controllers: int) -> list[str]:
    return ["env", f"LD_PRELOAD={_late_reports()}", "btvirt", "-L", f"-l{controllers}"]


def _late_reports() -> str:
    """The shared library of the source as it is now; compiled once."""
    source = SOURCE.read_bytes()
    folder = cache.folder() / f"late-reports-{hashlib.sha256(source).hexdigest()[:12]}"
    library = folder / "late-reports.so"
    with cache.locked("late-reports"):
        if not library.exists():
            _compile(library)
    return str(library)


def _compile(library: Path) -> None:
    with cache.new_folder(library.parent) as partial:
        compiling = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", str(partial / library.name), str(SOURCE)]
        done = subprocess.run(compiling, capture_output=True, text=True)
        if done.returncode:
            raise LabError(f"{SOURCE} was not compiled:\n{done.stderr}")
