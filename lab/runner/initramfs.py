"""The first file system of the QEMU guest: busybox, the modules and guest/initramfs-init, as a cpio archive.

Written here rather than with cpio(1): an archive needs a device node for the console, which only root could make on disk.
"""
import stat
from pathlib import Path

FOLDERS = ("bin", "dev", "host", "modules", "proc", "release", "root", "sys", "upper")
CONSOLE = (5, 1)
# What guest/initramfs-init calls. Its shell has these built in, but finds them through /proc, which comes and goes there.
APPLETS = ("cut", "insmod", "mkdir", "mount", "sleep", "switch_root")


class Archive:
    """cpio in the kernel's `newc` format; uncompressed, because unpacking is what an emulated CPU does worst."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._inode = 0

    def add(self, name: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        self._inode += 1
        encoded = name.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(encoded), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields)
        self._parts += [_padded(header + encoded), _padded(content)]

    def finished(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return b"".join(self._parts)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def build(busybox: Path, init: Path, modules: dict[str, bytes]) -> bytes:
    archive = Archive()
    for name in FOLDERS:
        archive.add(name, stat.S_IFDIR | 0o755)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=CONSOLE)
    archive.add("bin/busybox", stat.S_IFREG | 0o755, busybox.read_bytes())
    for name in APPLETS:
        archive.add(f"bin/{name}", stat.S_IFLNK | 0o777, b"busybox")
    archive.add("init", stat.S_IFREG | 0o755, init.read_bytes())
    for name, content in modules.items():
        archive.add(f"modules/{name}.ko", stat.S_IFREG | 0o644, content)
    order = "".join(f"{name}.ko\n" for name in modules)
    archive.add("modules/order", stat.S_IFREG | 0o644, order.encode())
    return archive.finished()
