"""The two kinds of guest: how each one is started, and nothing else."""
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import counter, guestkernel, uml
from .job import Job, Talk
from .terminal import LabError


@dataclass(frozen=True)
class Streams:
    """File descriptors that the machine writes to: the command's two streams and the kernel's console."""

    out: int
    err: int
    console: int


@dataclass(frozen=True)
class Launch:
    command: list[str]
    streams: Streams
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))


def qemu(job: Job, talk: Talk, streams: Streams) -> Launch:
    """Debian's own kernel on an emulated CPU.

    Measured choices: one CPU (a second buys nothing and adds wake-ups), `qemu64` with the TSC as clock (tightest sleeps)
    and RDRAND (without it the bus daemon waits more than a second for the kernel's first random number), no HPET (each
    read of it leaves the emulated CPU), no check of the timer (on a host with more to do than it has CPUs the ticks come
    too late for it, and the kernel panics while it boots). On such a host the kernel also measures the TSC wrongly, once
    in ten boots as a seventh of what it is, and the guest's clock then runs seven times too fast: it is told. /dev/kvm is
    not tried: where it exists but does not work, it hangs.
    """
    kernel = job.release.prepare() if job.release else guestkernel.prepare()
    options = [
        "console=ttyS0 quiet loglevel=3 panic=-1 oops=panic",
        "mitigations=off nokaslr audit=0 lsm=capability cryptomgr.notests random.trust_cpu=on",
        "tsc=reliable clocksource=tsc no_timer_check",
    ]
    if rate := counter.kilohertz():
        options.append(f"tsc_early_khz={rate}")
    if job.release:
        options.append("release=yes")  # the guest's first process finds it in its environment
    command = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-vga", "none", "-nic", "none"]
    command += ["-machine", "pc,hpet=off", "-accel", "tcg,tb-size=256", "-cpu", job.cpu, "-smp", "1", "-m", str(job.memory)]
    command += ["-kernel", str(kernel.kernel), "-initrd", str(kernel.initramfs), "-append", " ".join(options)]
    command += _shared_folder("root", Path("/"), readonly=True) + _shared_folder("lab", talk.out, readonly=False)
    if job.release:
        command += _shared_folder("release", job.release.files, readonly=True)
    command += _written_to("console", streams.console) + ["-serial", "chardev:console"]
    command += ["-device", "virtio-serial-pci"]
    for number, (name, descriptor) in enumerate([("out", streams.out), ("err", streams.err)], start=1):
        command += _written_to(name, descriptor) + ["-device", f"virtserialport,chardev={name},nr={number}"]
    return Launch(command, streams)


def _shared_folder(tag: str, folder: Path, readonly: bool) -> list[str]:
    path = str(folder).replace(",", ",,")
    backend = f"local,id={tag},path={path},security_model=none,multidevs=remap,readonly={'on' if readonly else 'off'}"
    return ["-fsdev", backend, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


def _written_to(name: str, descriptor: int) -> list[str]:
    return ["-add-fd", f"fd={descriptor},set={descriptor}", "-chardev", f"file,id={name},path=/dev/fdset/{descriptor},append=on"]


def user_mode_linux(job: Job, talk: Talk, streams: Streams) -> Launch:
    """User-mode Linux: the kernel as an ordinary process. Native CPU speed, dear system calls."""
    command = [str(uml.require_built()), f"mem={job.memory}M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]
    command += [f"init={guestkernel.LAB / 'guest' / 'uml-init'}", f'LAB_OUT="{talk.out}"', "quiet", "loglevel=3", "panic=-1"]
    command += ["con=null", f"con0=null,fd:{streams.console}", "ssl=null"]
    command += [f"con1=null,fd:{streams.out}", f"con2=null,fd:{streams.err}"]
    if job.virtual_time:
        command.append("time-travel=inf-cpu")
    return Launch(command, streams, {**os.environ, "TMPDIR": _memory_folder(job.memory)})


def _memory_folder(megabytes: int) -> str:
    """Where the guest's memory is backed: RAM if there is room for all of it, since running out is a bus error."""
    for folder in ("/dev/shm", tempfile.gettempdir()):
        if os.path.isdir(folder) and shutil.disk_usage(folder).free > megabytes << 20:
            return folder
    raise LabError(f"neither /dev/shm nor {tempfile.gettempdir()} has {megabytes} MB free for the guest's memory")


KINDS = {"qemu": qemu, "uml": user_mode_linux}
