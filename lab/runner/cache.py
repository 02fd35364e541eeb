"""Where prepared things live, and how they get there: whole or not at all, whoever else is preparing them."""
import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from .terminal import say


def folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "radio-lab"


@contextmanager
def locked(name: str) -> Iterator[None]:
    """One preparation of `name` at a time on this machine; the second one waits, then finds it done."""
    folder().mkdir(parents=True, exist_ok=True)
    with open(folder() / f".{name}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another radio-lab is preparing {name}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to fill, which becomes `target` only if the block ends well."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield partial
        partial.chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_file(target: Path, content: bytes) -> None:
    """Write `target` whole or not at all."""
    with tempfile.NamedTemporaryFile(prefix=f".{target.name}.", dir=target.parent, delete=False) as partial:
        try:
            partial.write(content)
            partial.flush()
            os.chmod(partial.name, 0o644)
            os.rename(partial.name, target)
        except BaseException:
            os.unlink(partial.name)
            raise
