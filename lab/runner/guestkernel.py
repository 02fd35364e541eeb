"""Debian's kernel, made ready for QEMU once and kept in the cache."""
import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import cache, initramfs
from .debian import BUSYBOX, LAB, dies, fetch_kernel, offered_kernel
from .kernelfiles import ModuleTree, built_version, uncompressed_kernel
from .terminal import LabError, complain, say

INIT = LAB / "guest" / "initramfs-init"
MODULES = LAB / "guest" / "modules.txt"


@dataclass(frozen=True)
class GuestKernel:
    version: str
    kernel: Path
    initramfs: Path


def cached(kernels: Path | None = None) -> Path | None:
    """The kernel of an earlier run: the newest by time, whatever apt offers by now, so that the lab works offline.
    `kernels` is the folder that has the release's; without it, the host's release."""
    fitting = [path.parent for path in (kernels or cache.folder()).glob("*/wanted") if path.read_bytes() == MODULES.read_bytes()]
    return max(fitting, key=lambda folder: (not _dies(folder), folder.stat().st_mtime), default=None)


def _dies(folder: Path) -> bool:
    """Also where an earlier version of the lab has kept a kernel without its version."""
    version = folder / "version"
    return not version.exists() or dies(version.read_text())


def _is_better_offered() -> bool:
    try:
        return not dies(offered_kernel().package)
    except LabError:
        return False


def prepare() -> GuestKernel:
    """The kernel and its initramfs; instant when they are in the cache."""
    with cache.locked("kernel"):
        folder = cached()
        if not folder or (_dies(folder) and _is_better_offered()):
            folder = _taken_instead_of(folder)
        return ready(folder)


def _taken_instead_of(kept: Path | None) -> Path:
    try:
        return _take_kernel()
    except LabError as error:
        if not kept:
            raise
        complain(f"{error}\nusing {kept.name}, which may die")
        return kept


def ready(folder: Path) -> GuestKernel:
    """The kernel in this folder of the cache, with its initramfs."""
    return GuestKernel(folder.name, folder / "vmlinux", _initramfs(folder))


def _take_kernel() -> Path:
    """Put a kernel into the cache: the one in /boot if that is Debian's and good, else the one apt has."""
    with tempfile.TemporaryDirectory(prefix=".package.", dir=cache.folder()) as package:
        root, version = Path("/"), _installed_version()
        if version:
            say(f"taking kernel {version} from /boot")
        else:
            root, version = Path(package), fetch_kernel(Path(package))
        return keep(root, version, cache.folder())


def _installed_version(root: Path = Path("/")) -> str | None:
    images = sorted((root / "boot").glob("vmlinuz-*-amd64"), reverse=True)
    versions = (path.name.removeprefix("vmlinuz-") for path in images if _lives(path))
    return next((version for version in versions if (root / "lib/modules" / version / "kernel").is_dir()), None)


def _lives(image: Path) -> bool:
    try:
        return not dies(built_version(image.read_bytes()))
    except (OSError, LabError):  # another's kernel, or one that is not for this user
        return False


def keep(root: Path, version: str, kernels: Path) -> Path:
    """Put the kernel that was unpacked below `root` into the folder `kernels`."""
    wanted = [line for line in MODULES.read_text().split("\n") if line and not line.startswith("#")]
    # Newer releases have the modules below /usr, and since Linux 7 the kernel beside them.
    tree = _first(root / "usr/lib/modules" / version, root / "lib/modules" / version)
    image = _first(root / f"boot/vmlinuz-{version}", tree / "vmlinuz")
    content = image.read_bytes()
    modules = ModuleTree(tree).in_loading_order(wanted)
    # Checkouts that want other modules keep their own, instead of taking the place of each other's.
    target = kernels / f"{version}-{hashlib.sha256(MODULES.read_bytes()).hexdigest()[:8]}"
    with cache.new_folder(target) as folder:
        (folder / "vmlinux").write_bytes(uncompressed_kernel(content))
        (folder / "version").write_text(built_version(content))
        for name, content in modules.items():
            (folder / f"{name}.ko").write_bytes(content)
        (folder / "order").write_text("\n".join(modules))
        (folder / "wanted").write_bytes(MODULES.read_bytes())
    say(f"kernel {version} is ready in {target}")
    return target


def _first(*places: Path) -> Path:
    found = next((place for place in places if place.exists()), None)
    if not found:
        raise LabError(f"the kernel's package has neither {' nor '.join(str(place) for place in places)}")
    return found


def _initramfs(folder: Path) -> Path:
    """The archive for this busybox and this init; another version of either makes another archive."""
    busybox = Path(BUSYBOX)
    fingerprint = hashlib.sha256(busybox.read_bytes() + INIT.read_bytes() + Path(initramfs.__file__).read_bytes()).hexdigest()[:12]
    archive = folder / f"initramfs-{fingerprint}.cpio"
    if not archive.exists():
        names = (folder / "order").read_text().split()
        modules = {name: (folder / f"{name}.ko").read_bytes() for name in names}
        cache.write_file(archive, initramfs.build(busybox, INIT, modules))
    return archive
