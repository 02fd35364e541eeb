"""What the lab takes out of Debian's kernel package: the uncompressed kernel, and modules in loading order."""
import lzma
import re
import struct
import subprocess
from pathlib import Path

from .terminal import LabError

ZSTANDARD_MARK = bytes.fromhex("28b52ffd")
SIGNATURE_MARK = b"~Module signature appended~\n"


def uncompressed_kernel(bz_image: bytes) -> bytes:
    """The ELF kernel inside a bzImage.

    QEMU enters an ELF kernel directly (PVH); unpacking the same bytes inside an emulated CPU costs seconds of every boot.
    """
    _require_header(bz_image)
    setup_sectors = bz_image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", bz_image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    kernel = _decompressed(bz_image[start : start + length])
    if kernel[:4] != b"\x7fELF":
        raise LabError("the kernel image holds no ELF kernel compressed with XZ or Zstandard, as Debian's do")
    return kernel


def built_version(bz_image: bytes) -> str:
    """The version of the package that a bzImage of Debian's is from, such as 6.1.192-3; of another's, its release."""
    _require_header(bz_image)
    (offset,) = struct.unpack_from("<H", bz_image, 0x20E)
    text = bz_image[0x200 + offset :].partition(b"\0")[0].decode(errors="replace")
    found = re.search(r" Debian (\S+)", text)
    return found[1] if found else text.partition(" ")[0]


def _require_header(bz_image: bytes) -> None:
    if bz_image[0x202:0x206] != b"HdrS":
        raise LabError("this is no x86 kernel image")


def _decompressed(payload: bytes) -> bytes:
    """What is in there; nothing when the compression is another one. The last four bytes of a payload are its size when
    decompressed: XZ's decoder ignores them, and zstd would take them for an error."""
    if payload.startswith(ZSTANDARD_MARK):
        return subprocess.run(["zstd", "--decompress", "--stdout"], input=payload[:-4], capture_output=True).stdout
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(payload)
    except lzma.LZMAError:
        return b""


def unsigned(module: bytes) -> bytes:
    """The module without its appended signature, whose check costs an emulated CPU more than the loading."""
    if not module.endswith(SIGNATURE_MARK):
        return module
    end = len(module) - len(SIGNATURE_MARK)
    (signature_length,) = struct.unpack(">I", module[end - 4 : end])
    return module[: end - 12 - signature_length]


def dependencies(module: bytes) -> list[str]:
    """Names of the modules that this one needs, from its own `.modinfo`."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return [name.decode() for name in found[1].split(b",") if name] if found else []


class ModuleTree:
    """A `/lib/modules/VERSION` folder, which need not have been through depmod."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.files = {self._name(path): path for path in (folder / "kernel").rglob("*.ko*")}
        builtin = folder / "modules.builtin"
        self.builtin = {self._name(Path(line)) for line in builtin.read_text().split()} if builtin.exists() else set()

    @staticmethod
    def _name(path: Path) -> str:
        return path.name.split(".ko")[0].replace("-", "_")

    def read(self, name: str) -> bytes:
        path = self.files[name]
        content = path.read_bytes()
        return lzma.decompress(content) if path.suffix == ".xz" else content

    def in_loading_order(self, wanted: list[str]) -> dict[str, bytes]:
        """`wanted` and all they depend on, each after what it needs, without what the kernel has built in. What is wanted
        as `?name` is left out where the kernel has no such module."""
        loaded: dict[str, bytes] = {}

        def load(name: str, wanted_by: str) -> None:
            if name in loaded or name in self.builtin:
                return
            if name not in self.files:
                raise LabError(f"the kernel in {self.folder} has no module {name} (wanted by {wanted_by})")
            content = self.read(name)
            for needed in dependencies(content):
                load(needed, wanted_by=name)
            loaded[name] = unsigned(content)

        for name in wanted:
            if not name.startswith("?") or name[1:] in self.files:
                load(name.removeprefix("?"), wanted_by="the lab")
        return loaded
