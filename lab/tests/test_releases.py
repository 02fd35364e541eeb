"""Another release of Debian in the guest: which ones there are, how they are fetched, and one boot."""
import contextlib
import hashlib
import io
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from tests.guests import Guests
from tests.peer_cases import HAS_PEERS, NEEDS_PEERS

LAB = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(LAB))

from runner import apt, cache, doctor, guestkernel, release, uml  # noqa: E402
from runner.apt import Apt, Archive, Mirrors  # noqa: E402
from runner.cli import main, parse_run  # noqa: E402
from runner.debian import missing_tools  # noqa: E402
from runner.release import Release, named  # noqa: E402
from runner.terminal import LabError  # noqa: E402


def on_debian(number: str | None):
    return unittest.mock.patch.object(release, "host_number", return_value=number)


class Names(unittest.TestCase):
    def test_a_number_or_a_suite(self):
        with on_debian("12"):
            self.assertEqual([named(text) for text in ("13", "trixie", "14", "sid")], [Release("13"), Release("13"), Release("14"), Release("sid")])

    def test_the_hosts_own_is_no_other(self):
        with on_debian("12"):
            self.assertEqual((named("12"), named("bookworm")), (None, None))
            self.assertIsNone(parse_run(["--debian", "12", "--", "true"]).release)
        with on_debian("13"):
            self.assertIsNone(named("13"))

    def complaint(self, *arguments: str) -> str:
        spoken = io.StringIO()
        with contextlib.redirect_stderr(spoken), self.assertRaises(SystemExit) as end:
            main(list(arguments))
        self.assertEqual(end.exception.code, 2)
        return spoken.getvalue()

    def test_an_unknown_one(self):
        for text in ("15", "", "trixie-backports", "../13"):
            self.assertIn("is not a release of Debian that the lab knows: 12, 13, 14, sid", self.complaint("run", "--debian", text, "--", "true"))
        self.assertIn("is not a release", self.complaint("prepare", "--debian", "15"))

    def test_one_older_than_the_host(self):
        with on_debian("13"):
            self.assertIn("Debian 12 is older than this machine's Debian 13", self.complaint("run", "--debian", "12", "--", "true"))

    def test_a_host_that_is_not_debian(self):
        with on_debian(None):
            self.assertIn("does not run Debian", self.complaint("run", "--debian", "13", "--", "true"))

    def test_user_mode_linux_has_the_hosts_alone(self):
        spoken = io.StringIO()
        with on_debian("12"), contextlib.redirect_stderr(spoken):
            self.assertEqual(main(["run", "--debian", "13", "--kernel", "uml", "--", "true"]), 2)
        self.assertIn("--debian needs --kernel qemu", spoken.getvalue())


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))


class Host(Folder):
    def number(self, text: str) -> str | None:
        (self.folder / "os-release").write_text(text)
        with unittest.mock.patch.object(release, "os_release", lambda: apt.os_release(self.folder / "os-release")):
            return release.host_number()

    def test_by_its_name(self):
        self.assertEqual(self.number('ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n'), "12")
        self.assertEqual(self.number("ID=debian\nVERSION_CODENAME=forky\n"), "14")
        self.assertIsNone(self.number("ID=ubuntu\nVERSION_CODENAME=noble\n"))
        self.assertIsNone(self.number(""))

    def test_the_mirror_of_its_release_and_no_other_archive(self):
        listed = "nodistro nodistro http://one/\ncloud-sdk-bookworm x http://two/\nbookworm  http://three/debian/\nbookworm-updates y http://four/\n"
        security = "bookworm-security oldstable-security http://five/security/\n"
        self.assertEqual(apt.mirrors_among(listed + security, "bookworm"), Mirrors("http://three/debian/", "http://five/security/"))
        self.assertEqual(apt.mirrors_among("stable bookworm http://six/\n", "bookworm"), Mirrors("http://six/", None))
        with self.assertRaisesRegex(LabError, "apt names no mirror of Debian's bookworm"):
            apt.mirrors_among("nodistro nodistro http://one/\n", "bookworm")

    def test_security_updates_come_along_where_there_are_any(self):
        mirrors = Mirrors("http://a/", "http://b/")
        self.assertRegex(apt.sources("trixie", mirrors), r"^deb (\[.*\] )?http://a/ trixie main\ndeb (\[.*\] )?http://b/ trixie-security main\n$")
        self.assertNotIn("security", apt.sources("sid", mirrors) + apt.sources("trixie", Mirrors("http://a/", None)))


class Said(unittest.TestCase):
    """What apt prints."""

    def test_the_size_of_its_lists(self):
        self.assertEqual(apt.fetched_bytes("Get:1 …\nFetched 9,842 kB in 2s (4,921 kB/s)\nReading…"), 9_842_000)
        self.assertEqual(apt.fetched_bytes("Fetched 12.5 MB in 1min 2s (1 B/s)\n"), 12_500_000)
        self.assertEqual(apt.fetched_bytes("Hit:1 …\n"), 0)

    def test_packages_with_their_sizes(self):
        printed = "Reading…\n'http://a/b%2b_5.deb' libdbus-1-3_1.16.2-2_amd64.deb 178028 SHA256:0\n'http://c' login_1%3a4.16.0-2+x_amd64.deb 1 MD5Sum:0\n"
        self.assertEqual(apt.offered(printed), [Archive("libdbus-1-3", "1.16.2-2", 178028), Archive("login", "1:4.16.0-2+x", 1)])


@unittest.skipUnless(shutil.which("apt-get"), "there is no apt here")
class FromAMirror(Folder):
    """The host's apt, on a mirror that is a folder."""

    def setUp(self):
        super().setUp()
        self.publish(("libc6", "2.41-12"), ("bluez", "5.82-1.1", "Depends: libc6\n"))
        self.enterContext(unittest.mock.patch.object(apt, "host_mirrors", return_value=Mirrors(f"file:{self.folder}/mirror", None)))
        self.enterContext(unittest.mock.patch.object(apt, "sources", lambda suite, mirrors: f"deb [trusted=yes] {mirrors.main} {suite} main\n"))

    def publish(self, *packages: tuple[str, ...]) -> None:
        """Make a mirror of these packages: each one's name, its version, and what it depends on."""
        lists = self.folder / "mirror/dists/trixie/main/binary-amd64"
        lists.mkdir(parents=True, exist_ok=True)
        content = "".join(self.package(*package) for package in packages).encode()
        (lists / "Packages").write_bytes(content)
        checksums = f"SHA256:\n {hashlib.sha256(content).hexdigest()} {len(content)} main/binary-amd64/Packages\n"
        (lists.parent.parent / "Release").write_text(f"Suite: trixie\nCodename: trixie\nArchitectures: amd64\nComponents: main\n{checksums}")

    def package(self, name: str, version: str, depends: str = "") -> str:
        """Put a package into the mirror; its entry in the lists."""
        tree, pool = self.folder / name, self.folder / "mirror/pool"
        control = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: m <m@example>\n{depends}Description: d\n"
        for folder in (tree / "DEBIAN", tree / "usr", pool):
            folder.mkdir(parents=True, exist_ok=True)
        (tree / "DEBIAN/control").write_text(control)
        (tree / "usr" / name).write_text(version)
        file = pool / f"{name}_{version}_amd64.deb"
        subprocess.run(["dpkg-deb", "--build", tree, file], capture_output=True, check=True)
        checksum = hashlib.sha256(file.read_bytes()).hexdigest()
        return f"{control}Filename: pool/{file.name}\nSize: {file.stat().st_size}\nSHA256: {checksum}\n\n"

    def apt(self, suite: str = "trixie") -> Apt:
        return Apt(suite, self.folder / "apt")

    def test_packages_with_all_they_need_are_unpacked(self):
        mine = self.apt()
        mine.update()
        archives = mine.closure("bluez")
        self.assertEqual({(archive.package, archive.version) for archive in archives}, {("bluez", "5.82-1.1"), ("libc6", "2.41-12")})
        mine.unpack(archives, self.folder / "root")
        self.assertEqual((self.folder / "root/usr/bluez").read_text(), "5.82-1.1")
        self.assertEqual((self.folder / "root/usr/libc6").read_text(), "2.41-12")

    def test_the_source_of_user_mode_linux_comes_from_the_release_that_has_it(self):
        source, spoken = self.find_source()
        self.assertEqual(source.read_text(), "5.82-1.1")
        self.assertIn("fetching bluez 5.82-1.1 of Debian's trixie", spoken)

    def test_the_newest_source_that_does_not_die(self):
        self.publish(("bluez", "6.1.190-1"), ("bluez", "6.1.192-3"), ("bluez", "6.1.176-1"))
        self.assertEqual(self.find_source()[0].read_text(), "6.1.190-1")

    def test_a_dying_source_where_there_is_no_other(self):
        self.publish(("bluez", "6.1.192-2"), ("bluez", "6.1.192-3"))
        self.assertEqual(self.find_source()[0].read_text(), "6.1.192-3")

    def find_source(self) -> tuple[Path, str]:
        names = {"SOURCE_SUITE": "trixie", "SOURCE_PACKAGE": "bluez", "SOURCE": Path("/usr/bluez")}
        with unittest.mock.patch.multiple(uml, **names), contextlib.redirect_stderr(io.StringIO()) as spoken:
            return uml.find_source(self.folder / "source"), spoken.getvalue()

    def test_a_missing_package_is_named(self):
        mine = self.apt()
        mine.update()
        with self.assertRaisesRegex(LabError, "Unable to locate package bluez-test-tools"):
            mine.closure("bluez", "bluez-test-tools")

    def test_a_suite_that_the_mirror_does_not_have(self):
        with self.assertRaisesRegex(LabError, "apt-get update failed for Debian's forky"):
            self.apt("forky").update()

    def test_a_mirror_that_cannot_be_reached(self):
        with unittest.mock.patch.object(apt, "host_mirrors", return_value=Mirrors("http://127.0.0.1:9/debian", None)):
            with self.assertRaisesRegex(LabError, "The first use of a release needs the network"):
                self.apt().update()

    def test_what_was_fetched_before_a_failure_is_not_kept(self):
        with unittest.mock.patch.object(cache, "folder", return_value=self.folder / "cache"), contextlib.redirect_stderr(io.StringIO()):
            with self.assertRaisesRegex(LabError, "bluez-test-tools"):
                Release("13").prepare()
            self.assertEqual(list(Release("13").folder.iterdir()), [])
            self.assertIsNone(Release("13").summary())


class Kernels(unittest.TestCase):
    def test_the_one_that_the_metapackage_stands_for(self):
        known = unittest.mock.Mock(suite="trixie")
        known.dependencies.return_value = ["linux-base", "linux-image-6.12.1+deb13-amd64"]
        self.assertEqual(release.kernel_version(known), "6.12.1+deb13-amd64")
        known.dependencies.return_value = []
        with self.assertRaisesRegex(LabError, "does not say which kernel"):
            release.kernel_version(known)

    def test_in_one_package_or_in_three(self):
        known = unittest.mock.Mock()
        known.package_names.return_value = {"linux-image-6.12-amd64", "linux-base"}
        self.assertEqual(release.kernel_packages(known, "6.12-amd64"), ["linux-image-6.12-amd64"])
        known.package_names.return_value = {"linux-image-7-amd64", "linux-binary-7-amd64", "linux-modules-7-amd64", "linux-base-7-amd64"}
        self.assertEqual(release.kernel_packages(known, "7-amd64"), ["linux-binary-7-amd64", "linux-base-7-amd64", "linux-modules-7-amd64"])


class Cached(Folder):
    def setUp(self):
        super().setUp()
        self.enterContext(unittest.mock.patch.object(cache, "folder", return_value=self.folder))

    def keep(self, number: str, wanted: str) -> Release:
        kept = Release(number)
        kept.files.mkdir(parents=True)
        (kept.folder / "files/bluez").write_text("5.82")
        (kept.folder / "files/wanted").write_text(wanted)
        kernel = kept.folder / "6.12.1+deb13-amd64-12345678"
        kernel.mkdir()
        (kernel / "wanted").write_bytes(guestkernel.MODULES.read_bytes())
        return kept

    def test_each_release_has_its_own(self):
        self.assertEqual(self.keep("13", release._wanted()).summary(), "BlueZ 5.82, Linux 6.12.1+deb13-amd64")
        self.assertIsNone(guestkernel.cached())
        self.assertIsNone(Release("sid").summary())

    def test_files_from_another_list_of_packages_are_fetched_anew(self):
        self.assertIsNone(self.keep("13", "bluez\n").summary())

    def test_the_doctor_knows_which_are_ready(self):
        self.keep("13", release._wanted())
        with on_debian("12"):
            thirteen, fourteen, sid = doctor._releases()
        self.assertIn("BlueZ 5.82, Linux 6.12.1", thirteen.state)
        self.assertEqual((thirteen.remedy, fourteen.needed), ("", False))
        self.assertEqual(sid.remedy, "lab/radio-lab prepare --debian sid")

    def test_policies_at_their_new_place_hide_the_old_ones(self):
        release.hide_moved_policies(self.folder)
        self.assertEqual((self.folder / "etc/dbus-1/system.d/bluetooth.conf").read_text(), "<busconfig/>\n")


THIRTEEN = Release("13")


@unittest.skipIf(missing_tools("qemu"), "the lab's packages are not installed: see lab/radio-lab doctor")
@unittest.skipUnless(THIRTEEN.summary(), "Debian 13 is not fetched: lab/radio-lab prepare --debian 13")
class InAGuest(Guests, unittest.TestCase):
    kernel = "qemu"

    def test_debian_13_over_the_hosts_files(self):
        script = f"""
            . /etc/os-release; echo "$ID $VERSION_ID"
            echo "BlueZ $(bluetoothctl --version | cut -d' ' -f2), Linux $(uname -r)"
            bluetoothctl list | wc -l
            cmp "$0" "{LAB}/radio-lab" && echo the same file
            /usr/bin/python3 -c 'import ssl; print("the host" + chr(39) + "s Python")'
            cd /var/run/dbus && echo /var/run
            """
        done = self.run_lab("--debian", "13", "--", "sh", "-c", script, str(LAB / "radio-lab"))
        self.assertEqual(done.stdout.splitlines(), ["debian 13", THIRTEEN.summary(), "2", "the same file", "the host's Python", "/var/run"], done.stderr)

    @unittest.skipUnless(HAS_PEERS, NEEDS_PEERS)
    def test_a_link_over_which_nothing_came_ends(self):
        self.end_a_silent_link("--debian", "13")
