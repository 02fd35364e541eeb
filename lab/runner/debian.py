"""Debian's packages: what the lab wants, what is there, and the kernel package that it fetches without installing."""
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .terminal import LabError, say

LAB = Path(__file__).resolve().parent.parent
BLUETOOTHD = "/usr/libexec/bluetooth/bluetoothd"
BUSYBOX = "/bin/busybox"

# Programs that a run needs, and the package of each: what counts is that they are there, wherever from.
TOOLS = {
    BUSYBOX: "busybox-static",
    BLUETOOTHD: "bluez",
    "btmon": "bluez",
    "btvirt": "bluez-test-tools",
    "cc": "gcc",
    "dbus-daemon": "dbus",
    "dbus-send": "dbus",
    "zstd": "zstd",
}
EMULATOR = {"qemu-system-x86_64": "qemu-system-x86"}

KERNEL_METAPACKAGE = "linux-image-amd64"
# Linux 6.1 from this version on dies when a link ends over which nothing whole has come, and whoever has its socket closes
# that: `l2cap_conn_free` frees once more (`hci_chan_del`) what went with the link. 6.1.190 does not, nor does 6.12, and
# once a frame has come a lost reference (`l2cap_recv_acldata`) hides it. Debian builds 6.1.192 again and again; no later
# 6.1 is known to be cured, and tests/silent_device.py tells whether one is.
DYING, CURED = (6, 1, 192), (6, 2)


@dataclass(frozen=True)
class OfferedKernel:
    release: str  # as in 6.1.0-50-amd64
    package: str  # the package's version, as in 6.1.176-1


def package_list(name: str) -> list[str]:
    """The packages that `packages.txt`, `packages-venv.txt` or `packages-uml.txt` names; each line has a reason too."""
    lines = [line.split("#")[0].strip() for line in (LAB / name).read_text().splitlines()]
    return [line for line in lines if line]


def missing_packages(packages: list[str]) -> list[str]:
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *packages]
    listed = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()
    installed = {line.split()[0] for line in listed if line.endswith(" installed")}
    return [package for package in packages if package not in installed]


def missing_tools(kernel: str) -> dict[str, str]:
    """The programs that a run with this kind of guest lacks, each with its package."""
    wanted = TOOLS | (EMULATOR if kernel == "qemu" else {})
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    return {tool: package for tool, package in wanted.items() if not shutil.which(tool, path=path)}


def require_tools(kernel: str) -> None:
    absent = missing_tools(kernel)
    if absent:
        raise LabError(f"missing: {', '.join(absent)}. As root:\n  {install_line(sorted(set(absent.values())))}")


def install_line(packages: list[str]) -> str:
    return f"apt-get install --no-install-recommends {' '.join(packages)}"


def fetch_kernel(folder: Path) -> str:
    """Unpack the kernel package that is offered below `folder` and return the kernel's release."""
    release = offered_kernel().release
    say(f"fetching linux-image-{release} (about 70 MB; unpacked into the cache, not installed)")
    _apt(["apt-get", "--quiet", "--quiet", "download", f"linux-image-{release}"], folder)
    (archive,) = folder.glob("*.deb")
    subprocess.run(["dpkg-deb", "--extract", archive, folder], check=True)
    return release


def offered_kernel() -> OfferedKernel:
    """The newest of Debian's kernels that does not die of what the lab does, or the newest one."""
    shown = _apt(["apt-cache", "show", KERNEL_METAPACKAGE], Path("/"))
    found = re.findall(r"^Depends:.*?linux-image-([0-9][^ ,]*) \(= ([^)]*)\)", shown, re.MULTILINE)
    kernels = [OfferedKernel(release, package) for release, package in found]
    if not kernels:
        raise LabError(f"apt does not say which kernel {KERNEL_METAPACKAGE} stands for")
    return next((kernel for kernel in kernels if not dies(kernel.package)), kernels[0])


def dies(version: str) -> bool:
    """Whether Linux of this version, such as 6.1.192-3, dies of what the lab does."""
    numbers = re.match(r"[0-9]+(\.[0-9]+)*", version)
    return bool(numbers) and DYING <= tuple(map(int, numbers[0].split("."))) < CURED


def _apt(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LabError(f"{' '.join(command[:2])} failed: {reason}\n  As root, `apt-get update` brings the package lists up to date.")
    return done.stdout
