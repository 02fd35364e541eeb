"""`radio-lab doctor`: what is there, what is missing, and the line that repairs it."""
import platform
import sys
from dataclasses import dataclass

from . import cache, guestkernel, uml, venv
from . import release as releases
from .debian import EMULATOR, TOOLS, install_line, missing_packages, missing_tools, package_list


@dataclass(frozen=True)
class Finding:
    """One line of the report. Without `remedy` all is well; only what is `needed` makes the doctor's exit code 1."""

    subject: str
    state: str
    remedy: str = ""
    needed: bool = True


def examine() -> int:
    findings = [_machine(), _tools(), _kernel(), *_releases(), _uml(), _venv()]
    for finding in findings:
        mark = "ok  " if not finding.remedy else "MISS" if finding.needed else "--  "
        print(f"{mark}  {finding.subject}: {finding.state}")
        for line in finding.remedy.splitlines():
            print(f"          {line}")
    return 1 if any(finding.remedy and finding.needed for finding in findings) else 0


def _machine() -> Finding:
    name = platform.machine()
    if (sys.platform, name) == ("linux", "x86_64"):
        return Finding("machine", f"Linux on {name}; the CPU is emulated, so /dev/kvm does not matter")
    return Finding("machine", f"{sys.platform} on {name}", "the lab knows Linux on x86_64 only")


def _tools() -> Finding:
    absent = missing_tools("qemu")
    if not absent:
        return Finding("programs", ", ".join(tool.rsplit("/", 1)[-1] for tool in TOOLS | EMULATOR))
    return Finding("programs", f"missing {', '.join(absent)}", f"as root: {install_line(sorted(set(absent.values())))}")


def _kernel() -> Finding:
    folder = guestkernel.cached()
    if folder:
        return Finding("kernel", f"{folder.name}, in {folder}")
    return Finding("kernel", "not fetched yet; the first run does it, once", "lab/radio-lab prepare", needed=False)


def _releases() -> list[Finding]:
    """One line for each release that `run --debian` can take here."""
    host = releases.host_number()
    return [_release(releases.Release(number)) for number in (releases.newer_than(host) if host else [])]


def _release(release: releases.Release) -> Finding:
    name, summary = f"Debian {release.number}", release.summary()
    if summary:
        return Finding(name, f"{summary}, in {release.folder}")
    return Finding(name, f"not fetched (only for --debian {release.number})", f"lab/radio-lab prepare --debian {release.number}", needed=False)


def _uml() -> Finding:
    kernel = uml.built()
    if kernel:
        return Finding("user-mode Linux", str(kernel))
    absent = missing_packages(package_list("packages-uml.txt"))
    remedy = f"as root: {install_line(absent)}\n" if absent else ""
    return Finding("user-mode Linux", "not built (only for --kernel uml)", remedy + "lab/radio-lab build-uml", needed=False)


def _venv() -> Finding:
    folder = venv.location()
    if (folder / "finished").exists():
        return Finding("Python peers", str(folder / "bin/python"))
    return Finding("Python peers", f"not installed (only for lab/python), in {cache.folder()}", "lab/radio-lab venv", needed=False)
