"""User-mode Linux: built once from Debian's kernel source, then kept in the cache."""
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from . import cache
from .apt import Apt
from .debian import LAB, dies, install_line, missing_packages, package_list
from .job import Job
from .terminal import LabError, say

CONFIG = LAB / "guest" / "uml.config"
PATCH = LAB / "guest" / "uml-xstate.patch"
# The configuration and the patch are for this version, which only this release of Debian has.
SOURCE_PACKAGE, SOURCE_SUITE = "linux-source-6.1", "bookworm"
SOURCE = Path(f"/usr/src/{SOURCE_PACKAGE}.tar.xz")
DISK_SPACE = 3 << 30
REPORT_INTERVAL = 30


def built() -> Path | None:
    """The kernel of an earlier build with today's configuration. Works offline and without the source package."""
    fitting = [path.parent for path in cache.folder().glob("uml-*/wanted") if path.read_bytes() == CONFIG.read_bytes()]
    newest = max(fitting, key=lambda folder: (not _dies(folder), folder.stat().st_mtime), default=None)
    return newest / "linux" if newest else None


def _dies(folder: Path) -> bool:
    return dies(folder.name.removeprefix("uml-"))


def require_built() -> Path:
    kernel = built()
    if not kernel:
        raise LabError("user-mode Linux is not built yet: `lab/radio-lab build-uml` does it once, in some ten CPU-minutes")
    return kernel


def build() -> int:
    """Build, boot once to see that it works, and keep."""
    with cache.locked("uml"):
        if (kernel := built()) and not _dies(kernel.parent):
            say(f"already built: {kernel}")
            return 0
        absent = missing_packages(package_list("packages-uml.txt"))
        if absent:
            raise LabError(f"missing Debian packages. As root:\n  {install_line(absent)}")
        folder = _build()
        try:
            _boot_once()
        except BaseException:
            shutil.rmtree(folder)
            raise
        say(f"user-mode Linux boots; it is kept in {folder}")
        return 0


def find_source(folder: Path) -> Path:
    """The kernel's source: of the package, where the host has a good one, or fetched from the release that has it."""
    if SOURCE.exists() and not dies(_installed_version()):
        return SOURCE
    folder.mkdir()
    apt = Apt(SOURCE_SUITE, folder)
    size = apt.update()
    versions = apt.versions(SOURCE_PACKAGE)
    version = next((version for version in versions if not dies(version)), None)
    archives = apt.archives(f"{SOURCE_PACKAGE}={version}" if version else SOURCE_PACKAGE)
    size += sum(archive.size for archive in archives)
    say(f"fetching {SOURCE_PACKAGE} {archives[0].version} of Debian's {SOURCE_SUITE}, {size / 1e6:.0f} MB with its lists; nothing is installed")
    apt.unpack(archives, folder / "root")
    return folder / "root" / SOURCE.relative_to("/")


def _installed_version() -> str:
    query = ["dpkg-query", "--show", "--showformat", "${Version}", SOURCE_PACKAGE]
    return subprocess.run(query, capture_output=True, text=True).stdout


def _build() -> Path:
    cache.folder().mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(cache.folder()).free < DISK_SPACE:
        raise LabError(f"building needs {DISK_SPACE >> 30} GB free below {cache.folder()} for a while")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=".uml.", dir=cache.folder()) as work:
        source = find_source(Path(work) / ".source")
        say(f"1/3 unpacking {source.name}")
        _run(["tar", "--extract", "--file", str(source), "--strip-components", "1"], Path(work))
        _run(["patch", "--strip", "1", "--input", str(PATCH)], Path(work))
        say("2/3 configuring")
        _configure(Path(work))
        say("3/3 compiling, at low priority")
        _compile(Path(work), begun)
        version = _run(["./linux", "--version"], Path(work)).strip()
        target = cache.folder() / f"uml-{version}"
        with cache.new_folder(target) as folder:
            shutil.copy(Path(work) / "linux", folder)
            shutil.copy(CONFIG, folder / "wanted")
    say(f"built {version} in {time.monotonic() - begun:.0f} s")
    return target


def _configure(source: Path) -> None:
    _run(["make", "ARCH=um", "defconfig"], source)
    _run(["scripts/kconfig/merge_config.sh", "-m", ".config", str(CONFIG)], source)
    _run(["make", "ARCH=um", "olddefconfig"], source)
    broken = contradictions(CONFIG.read_text(), (source / ".config").read_text())
    if broken:
        raise LabError("this kernel's configuration cannot have: " + ", ".join(broken))


def contradictions(wanted: str, configured: str) -> list[str]:
    """Lines of `wanted` that `configured` does not fulfil. What is wanted unset may be unset or unknown."""
    present = set(configured.splitlines())
    broken = []
    for line in wanted.splitlines():
        if line.startswith("CONFIG_") and line not in present:
            broken.append(line)
        if line.startswith("# CONFIG_") and f"{line.split()[1]}=y" in present:
            broken.append(line.removeprefix("# "))
    return broken


def _compile(source: Path, begun: float) -> None:
    command = _niced(["make", "ARCH=um", f"-j{os.cpu_count()}", "linux"])
    with open(source / "build.log", "w+") as log, subprocess.Popen(command, cwd=source, stdout=log, stderr=log) as make:
        try:
            while True:
                try:
                    failed = make.wait(REPORT_INTERVAL)
                    break
                except subprocess.TimeoutExpired:
                    files = (source / "build.log").read_text().count("\n  CC ")
                    say(f"    {files} files compiled after {time.monotonic() - begun:.0f} s")
        except BaseException:
            make.terminate()
            raise
    if failed:
        raise LabError("compiling failed:\n" + "\n".join((source / "build.log").read_text().splitlines()[-20:]))


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(_niced(command), cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def _niced(command: list[str]) -> list[str]:
    return ["nice", "-n", "10", *command]


def _boot_once() -> None:
    from .supervisor import run

    say("booting it once")
    code = run(Job(command=["true"], kernel="uml"))
    if code:
        raise LabError(f"the new kernel does not work: exit code {code}")
