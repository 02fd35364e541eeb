"""One run: what is asked for, and the folder through which runner and guest talk (`/lab` inside)."""
import fcntl
import os
import shlex
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

from . import btvirt, venv
from .debian import BLUETOOTHD, LAB
from .release import Release
from .terminal import LabError


@dataclass(frozen=True)
class Job:
    command: list[str]
    kernel: str = "qemu"
    release: Release | None = None
    controllers: int = 2
    radio: str = "btvirt"
    timeout: float = 600
    boot_timeout: float = 180
    memory: int = 1024
    cpu: str = "qemu64,+rdrand"
    out: Path | None = None
    capture: Path | None = None
    bluetoothd: bool = True
    bluetoothd_args: list[str] = field(default_factory=list)
    channels: int = 1
    environment: dict[str, str] = field(default_factory=dict)
    virtual_time: bool = False

    def script(self) -> str:
        """The job as the guest's shell reads it; see guest/guest-init."""
        settings = {
            "KERNEL": self.kernel,
            "GUEST": str(LAB / "guest"),
            "HOST_CWD": os.getcwd(),
            "CONTROLLERS": str(self.controllers),
            "BLUETOOTHD": "yes" if self.bluetoothd else "no",
            "CAPTURE": "yes" if self.capture else "no",
        }
        config = f"main-{self.channels}-channels.conf" if self.channels > 1 else "main.conf"
        daemon = [BLUETOOTHD, "-n", "-E", "-f", str(LAB / "guest" / config), *self.bluetoothd_args]
        lines = [f"{name}={shlex.quote(value)}" for name, value in settings.items()]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in self._exported().items()]
        lines += [_function("run_controllers", self._controllers()), _function("run_bluetoothd", daemon)]
        lines += [_function("run_command", self.command)]
        return "\n".join(lines) + "\n"

    def _controllers(self) -> list[str]:
        if self.radio == "btvirt":
            return btvirt.command(self.controllers)
        return [str(venv.location() / "bin/python"), str(LAB / "python/air.py"), "--adapters", str(self.controllers)]

    def _exported(self) -> dict[str, str]:
        adapters = ",".join(f"hci{index}" for index in range(self.controllers))
        lab = {"HOME": str(Path.home()), "RADIO_LAB_RADIO": self.radio, "RADIO_LAB_ATT_CHANNELS": str(self.channels)}
        if adapters:
            lab["EDGEBLUE_ADAPTERS"] = adapters
        return lab | self.environment


def _function(name: str, command: list[str]) -> str:
    return f"{name}() {{ exec {shlex.join(command)}; }}"


class Talk:
    """The folder that the guest sees as `/lab`, and in it `.radio-lab`, where the two sides talk."""

    def __init__(self, out: Path):
        self.out = out
        self.folder = out / ".radio-lab"

    def read(self, name: str) -> str | None:
        try:
            return (self.folder / name).read_text(errors="replace").strip()
        except FileNotFoundError:
            return None

    @property
    def started(self) -> bool:
        return (self.folder / "started").exists()

    @property
    def console(self) -> Path:
        return self.out / "console.log"

    def exit_code(self) -> int | None:
        written = self.read("exit")
        return int(written) if written else None


@contextmanager
def conversation(job: Job) -> Iterator[Talk]:
    """`job.out`, or a folder that exists only for this run; two runs never share one."""
    if job.out is None:
        with tempfile.TemporaryDirectory(prefix="radio-lab.") as folder:
            yield _begin(job, Path(folder))
        return
    job.out.mkdir(parents=True, exist_ok=True)
    with open(job.out / ".radio-lab.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LabError(f"another run is using {job.out}") from error
        talk = _begin(job, job.out.resolve())
        try:
            yield talk
        finally:
            shutil.rmtree(talk.folder, ignore_errors=True)
            (job.out / ".radio-lab.lock").unlink()


def _begin(job: Job, out: Path) -> Talk:
    talk = Talk(out)
    shutil.rmtree(talk.folder, ignore_errors=True)
    talk.folder.mkdir()
    shutil.copy(LAB / "guest" / "guest-init", talk.folder)
    (talk.folder / "job").write_text(job.script())
    return talk
