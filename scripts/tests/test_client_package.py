"""Tests of what a program resolves that depends on EdgeBlue: the packages that were resolved here, without a network."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPOSITORIES = ROOT / ".build/repositories"

MANIFEST = """\
// swift-tools-version:6.2
import PackageDescription

let package = Package(
  name: "Client", dependencies: [.package({dependency})],
  targets: [.executableTarget(name: "Client", dependencies: [.product(name: "BlueZ", package: "edgeblue")])])
"""


def run(*command, cwd, **options):
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, **options).stdout


@unittest.skipUnless(REPOSITORIES.is_dir(), "needs the repositories of the packages: swift build")
class ClientPackageTests(unittest.TestCase):
    """A client of BlueZ gets EdgeBlue by a URL, as of a tag, and every other package from the clones of this build."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.published = cls.folder / "edgeblue"
        for name in run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0"):
            if name and (ROOT / name).is_file():
                (cls.published / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, cls.published / name)
        author = ["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
        run("git", "init", "--quiet", cwd=cls.published)
        run("git", "add", "--all", cwd=cls.published)
        run("git", *author, "commit", "--quiet", "--message", "Everything", cwd=cls.published)
        run("git", *author, "tag", "9.9.9", cwd=cls.published)
        cls.mirrors = cls._mirrors()

    @classmethod
    def _mirrors(cls):
        """Where SwiftPM finds each package without a network. A clone has the name of its package."""
        found = {}
        for clone in REPOSITORIES.iterdir():
            url = run("git", "config", "remote.origin.url", cwd=clone).strip().removesuffix(".git")
            link = cls.folder / "mirrors" / url.rsplit("/", 1)[1]
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(clone)
            found |= dict.fromkeys([url, url + ".git"], f"file://{link}")
        return found

    def resolved(self, dependency):
        """The packages that a client resolves, EdgeBlue left out."""
        client = Path(tempfile.mkdtemp(dir=self.folder))
        (client / "Sources/Client").mkdir(parents=True)
        (client / "Sources/Client/main.swift").write_text("import BlueZ\n")
        (client / "Package.swift").write_text(MANIFEST.format(dependency=dependency))
        mirrors = [{"original": original, "mirror": mirror} for original, mirror in self.mirrors.items()]
        configuration = client / ".swiftpm/configuration"
        configuration.mkdir(parents=True)
        (configuration / "mirrors.json").write_text(json.dumps({"object": mirrors, "version": 1}))
        # A cache of its own: the user's must neither help nor change.
        cache = ["--cache-path", str(client / "cache")]
        run("swift", "package", *cache, "resolve", cwd=client, timeout=600, env=self._environment())
        pins = json.loads((client / "Package.resolved").read_text())["pins"]
        return {pin["identity"] for pin in pins} - {"edgeblue"}

    @staticmethod
    def _environment():
        """Without what changes the manifest in our own builds."""
        return {name: value for name, value in os.environ.items() if not name.startswith("EDGEBLUE_")}

    def test_a_client_resolves_one_package(self):
        self.assertEqual(self.resolved(f'url: "file://{self.published}", from: "9.0.0"'), {"swift-log"})

    def test_a_client_by_a_path_without_traits_resolves_one_package(self):
        self.assertEqual(self.resolved(f'path: "{self.published}", traits: []'), {"swift-log"})

    def test_a_client_with_the_trait_resolves_all_packages(self):
        packages = [line.split()[0] for line in (ROOT / "scripts/package-versions.txt").read_text().splitlines()
                    if line and not line.startswith("#")]  # fmt: skip
        expected = {package.split("/")[1].lower() for package in packages}
        self.assertEqual(self.resolved(f'url: "file://{self.published}", from: "9.0.0", traits: ["Full"]'), expected)

    def test_this_package_itself_has_the_trait(self):
        package = json.loads(run("swift", "package", "dump-package", cwd=ROOT, env=self._environment()))
        defaults = next(trait for trait in package["traits"] if trait["name"] == "default")
        self.assertEqual(defaults["enabledTraits"], ["Full"])
