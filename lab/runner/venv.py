"""The Python environment of the lab's peers: Bumble and D-Bus, the files that `python/requirements.txt` pins."""
import hashlib
import subprocess
from pathlib import Path

from . import cache
from .debian import LAB
from .terminal import LabError, say

REQUIREMENTS = LAB / "python" / "requirements.txt"
# Debian's interpreter, and not the first one on PATH: builds of Python made without Bluetooth headers lack AF_BLUETOOTH.
PYTHON = "/usr/bin/python3"


def location() -> Path:
    """Where the environment for today's requirements is or will be."""
    return cache.folder() / f"venv-{hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]}"


def prepare() -> Path:
    """The environment's interpreter; installs the packages once, and works offline from then on."""
    with cache.locked("venv"):
        folder = location()
        finished = folder / "finished"
        if not finished.exists():
            say(f"making a Python environment in {folder}")
            _run([PYTHON, "-m", "venv", "--clear", str(folder)])
            # These bytes and no others, and no package's own script runs.
            exact = ["--require-hashes", "--only-binary", ":all:", "--requirement", str(REQUIREMENTS)]
            _run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *exact])
            # A guest throws away what it compiles, so that an emulated CPU would compile it again in every run.
            _run([str(folder / "bin/python"), "-m", "compileall", "-q", "-j", "0", str(folder / "lib")])
            finished.touch()
        return folder / "bin/python"


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr).strip()[-2000:]}")
