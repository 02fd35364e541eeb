"""Other releases of Debian in the guest: the release's kernel, and its BlueZ, bus and C library over the host's files."""
import platform
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import cache, guestkernel
from .apt import Apt, Archive, os_release
from .debian import KERNEL_METAPACKAGE
from .guestkernel import GuestKernel
from .terminal import LabError, say

# By age. `sid` has no number.
SUITES = {"12": "bookworm", "13": "trixie", "14": "forky", "sid": "sid"}

# What lies over the host's files, with all that it needs, the C library too. base-files holds the links from /lib to
# /usr/lib: without them a package's /lib would hide the host's.
PACKAGES = ("base-files", "bluez", "bluez-test-tools", "dbus")
# Policies of the bus that a later release has at another place. An empty one hides the host's, which would count as well.
MOVED_POLICIES = ("etc/dbus-1/system.d/bluetooth.conf",)
EMPTY_POLICY = "<busconfig/>\n"


@dataclass(frozen=True)
class Release:
    """A release that is not the host's."""

    number: str

    @property
    def suite(self) -> str:
        return SUITES[self.number]

    @property
    def folder(self) -> Path:
        """The release's part of the cache: its files, and beside them its kernels."""
        return cache.folder() / f"debian-{self.suite}"

    @property
    def files(self) -> Path:
        """What goes over the host's files."""
        return self.folder / "files" / "root"

    def summary(self) -> str | None:
        """The versions that a run would use; None while something has to be fetched."""
        kernel = guestkernel.cached(self.folder)
        if not kernel or not self._has_files():
            return None
        bluez = (self.folder / "files" / "bluez").read_text()
        return f"BlueZ {bluez}, Linux {kernel.name.rpartition('-')[0]}"

    def prepare(self) -> GuestKernel:
        """The release's kernel; it and the files are fetched on the first use, and at hand from then on."""
        with cache.locked(f"debian-{self.suite}"):
            if not self.summary():
                self._fetch()
            kernel = guestkernel.cached(self.folder)
            assert kernel
            return guestkernel.ready(kernel)

    def _has_files(self) -> bool:
        wanted = self.folder / "files" / "wanted"
        return wanted.exists() and wanted.read_text() == _wanted()

    def _fetch(self) -> None:
        if platform.machine() != "x86_64":
            raise LabError(f"another release needs a machine with x86_64; this one is {platform.machine()}")
        begun = time.monotonic()
        self.folder.mkdir(parents=True, exist_ok=True)
        say(f"Debian {self.number} is used for the first time here: reading which packages it has")
        with tempfile.TemporaryDirectory(prefix=".apt.", dir=self.folder) as name:
            apt = Apt(self.suite, Path(name))
            size = apt.update()
            files = [] if self._has_files() else apt.closure(*PACKAGES)
            version = kernel_version(apt)
            kernel = [] if guestkernel.cached(self.folder) else apt.archives(*kernel_packages(apt, version))
            size += sum(archive.size for archive in files + kernel)
            say(f"fetching {len(files + kernel)} packages of it, {size / 1e6:.0f} MB with their lists, once; nothing is installed")
            if files:
                self._keep_files(apt, files)
            if kernel:
                self._keep_kernel(apt, kernel, version)
        say(f"Debian {self.number} is ready after {time.monotonic() - begun:.0f} s: {self.summary()}; {_megabytes(self.folder)} MB in {self.folder}")

    def _keep_files(self, apt: Apt, archives: list[Archive]) -> None:
        with cache.new_folder(self.folder / "files") as folder:
            root = folder / "root"
            root.mkdir()
            apt.unpack(archives, root)
            hide_moved_policies(root)
            bluez = next(archive for archive in archives if archive.package == "bluez")
            (folder / "bluez").write_text(bluez.version.partition("-")[0])
            (folder / "wanted").write_text(_wanted())

    def _keep_kernel(self, apt: Apt, archives: list[Archive], version: str) -> None:
        with tempfile.TemporaryDirectory(prefix=".package.", dir=self.folder) as name:
            apt.unpack(archives, Path(name))
            guestkernel.keep(Path(name), version, self.folder)


def named(text: str) -> Release | None:
    """The release with this number or name; None for the host's own, which a run uses anyway."""
    number = next((number for number, suite in SUITES.items() if text in (number, suite)), None)
    if not number:
        raise LabError(f"{text!r} is not a release of Debian that the lab knows: {', '.join(SUITES)}")
    host = host_number()
    if number == host:
        return None
    if not host:
        raise LabError("this machine does not run Debian, and the packages of a release come from the mirror of the host's apt")
    if number not in newer_than(host):
        raise LabError(f"Debian {number} is older than this machine's Debian {host}, and programs that were built here need the C library from here")
    return Release(number)


def host_number() -> str | None:
    """The host's release, as a key of SUITES; None on another system."""
    known = os_release()
    if known.get("ID") != "debian":
        return None
    return next((number for number, suite in SUITES.items() if known.get("VERSION_CODENAME") == suite), None)


def newer_than(host: str) -> list[str]:
    numbers = list(SUITES)
    return numbers[numbers.index(host) + 1 :]


def kernel_version(apt: Apt) -> str:
    prefix = "linux-image-"
    found = next((name.removeprefix(prefix) for name in apt.dependencies(KERNEL_METAPACKAGE) if name.startswith(prefix)), None)
    if not found:
        raise LabError(f"apt does not say which kernel {KERNEL_METAPACKAGE} stands for in Debian's {apt.suite}")
    return found


def kernel_packages(apt: Apt, version: str) -> list[str]:
    """Where the kernel is: in one package, or since Linux 7 in three, beside an image package that is empty."""
    known = apt.package_names("linux-")
    parts = [f"linux-{part}-{version}" for part in ("binary", "base", "modules")]
    return [part for part in parts if part in known] if parts[0] in known else [f"linux-image-{version}"]


def hide_moved_policies(root: Path) -> None:
    for policy in (root / name for name in MOVED_POLICIES):
        if not policy.exists():
            policy.parent.mkdir(parents=True, exist_ok=True)
            policy.write_text(EMPTY_POLICY)


def _wanted() -> str:
    """What files of an earlier run must have been made from; another list is fetched anew."""
    return "\n".join((*PACKAGES, *MOVED_POLICIES)) + "\n"


def _megabytes(folder: Path) -> int:
    return round(sum(path.lstat().st_size for path in folder.rglob("*")) / 1e6)
