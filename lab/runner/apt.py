"""An apt for another Debian release. It takes mirror, keys and proxy from the host's apt; its lists and its settings are its
own, so that nothing of the host's changes. It fetches packages and never installs one."""
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .terminal import LabError

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITE_WORDS = ("stable", "oldstable", "testing", "unstable", "sid")

# A file and not options: only a file can empty what the host's settings have collected. Error-Mode makes a list that could
# not be fetched an error; by default apt goes on without it.
SETTINGS = """\
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
#clear APT::Default-Release;
#clear APT::Architectures;
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


@dataclass(frozen=True)
class Archive:
    """A package file that the mirror has."""

    package: str
    version: str
    size: int


@dataclass(frozen=True)
class Mirrors:
    """Where the host's own release comes from, and its security updates."""

    main: str
    security: str | None


class Apt:
    """apt for `suite`, in a folder that the caller makes and removes."""

    def __init__(self, suite: str, folder: Path, architecture: str = "amd64"):
        self.suite = suite
        self.folder = folder
        (folder / "state/lists/partial").mkdir(parents=True)
        (folder / "cache/archives/partial").mkdir(parents=True)
        (folder / "status").touch()
        (folder / "apt.conf").write_text(SETTINGS.format(folder=folder, architecture=architecture))
        (folder / "sources.list").write_text(sources(suite, host_mirrors()))

    def update(self) -> int:
        """Fetch the suite's package lists; their size in bytes."""
        return fetched_bytes(self._get("update"))

    def closure(self, *packages: str) -> list[Archive]:
        """These packages and all they depend on, as on a machine that has nothing yet."""
        return offered(self._get("install", "--yes", "--print-uris", *packages))

    def versions(self, package: str) -> list[str]:
        """The versions that the mirror has, the newest first."""
        return re.findall(r"^[^|]*\| *(\S+) *\|", self._run("apt-cache", "madison", package), re.MULTILINE)

    def archives(self, *packages: str) -> list[Archive]:
        """These packages alone, each in its newest version or in that behind `=`."""
        return offered(self._get("download", "--print-uris", *packages))

    def package_names(self, prefix: str) -> set[str]:
        return set(self._run("apt-cache", "pkgnames", prefix).split())

    def dependencies(self, package: str) -> list[str]:
        return re.findall(r"Depends: (\S+)", self._run("apt-cache", "depends", "--important", package))

    def fetch(self, archives: list[Archive]) -> list[Path]:
        """The files of these packages, in the order of their names; they lie below the folder of this apt."""
        fetched = self.folder / "fetched"
        fetched.mkdir()
        self._get("download", *(f"{archive.package}={archive.version}" for archive in archives), folder=fetched)
        return sorted(fetched.glob("*.deb"))

    def unpack(self, archives: list[Archive], target: Path) -> None:
        """Fetch these packages and lay their files into `target`, in the order of their names."""
        for file in self.fetch(archives):
            subprocess.run(["dpkg-deb", "--extract", file, target], check=True)
        shutil.rmtree(self.folder / "fetched")

    def _get(self, *arguments: str, folder: Path | None = None) -> str:
        return self._run("apt-get", "--quiet", *arguments, folder=folder)

    def _run(self, program: str, *arguments: str, folder: Path | None = None) -> str:
        command = [program, "--config-file", str(self.folder / "apt.conf"), *arguments]
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, cwd=folder or self.folder, capture_output=True, text=True, env=environment)
        if done.returncode:
            word = next(argument for argument in arguments if not argument.startswith("-"))
            raise LabError(
                f"{program} {word} failed for Debian's {self.suite}; apt says:\n{_reasons(done.stderr)}\n"
                "  The first use of a release needs the network and a mirror that has the release; later ones need neither.")  # fmt: skip
        return done.stdout


def _reasons(said: str) -> str:
    lines = [line for line in said.splitlines() if line.startswith(("E:", "W:"))] or said.splitlines()
    return "\n".join(f"  {line}" for line in lines[:5])


def offered(printed: str) -> list[Archive]:
    """What `--print-uris` lists: 'address' NAME_VERSION_ARCHITECTURE.deb SIZE CHECKSUM."""
    found = re.findall(r"^'[^']*' ([^_ ]+)_([^_ ]+)_[^_ ]+\.deb (\d+) ", printed, re.MULTILINE)
    return [Archive(package, version.replace("%3a", ":"), int(size)) for package, version, size in found]


def fetched_bytes(said: str) -> int:
    """The size in apt's closing line, `Fetched 9,842 kB in 2s (4,921 kB/s)`; 0 when there is none."""
    found = re.search(r"^Fetched ([\d.,]+) ([kMG]?)B in", said, re.MULTILINE)
    return round(float(found[1].replace(",", "")) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]]) if found else 0


def sources(suite: str, mirrors: Mirrors) -> str:
    signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
    lines = [f"deb {signed}{mirrors.main} {suite} main\n"]
    if suite != "sid" and mirrors.security:
        lines.append(f"deb {signed}{mirrors.security} {suite}-security main\n")
    return "".join(lines)


def host_mirrors() -> Mirrors:
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(RELEASE) $(CODENAME) $(REPO_URI)"], capture_output=True, text=True)
    return mirrors_among(listed.stdout, _host_suite())


def mirrors_among(listed: str, suite: str) -> Mirrors:
    """The mirror of `suite`, under its own name or as `stable`; other archives that the host uses do not count."""
    found: dict[str, str] = {}
    for line in listed.splitlines():
        name, address = line.split()[0], line.split()[-1]
        base = name.removesuffix("-security")
        if base in (suite, *SUITE_WORDS):
            found.setdefault("main" if name == base else "security", address)
    if "main" not in found:
        raise LabError(f"apt names no mirror of Debian's {suite}, which this machine runs: look into /etc/apt/sources.list and /etc/apt/sources.list.d")
    return Mirrors(found["main"], found.get("security"))


def _host_suite() -> str:
    return os_release().get("VERSION_CODENAME", "")


def os_release(path: Path = Path("/etc/os-release")) -> dict[str, str]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines) if value}
