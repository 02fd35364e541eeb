"""Tests of scripts/install-packages, with an apt and a dpkg that only write down what they are asked for."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Each writes its own name and arguments into $CALLS. They know what $INSTALLED and $USER_ID say.
FAKES = {
    "dpkg-query": 'case " $INSTALLED " in *" ${@: -1} "*) echo installed ;; *) exit 1 ;; esac',
    "dpkg": 'echo "dpkg $*" >>"$CALLS"; mkdir -p "$3/usr/bin"; echo unpacked >"$3/usr/bin/server"',
    "sudo": 'echo "sudo $*" >>"$CALLS"; "$@"',
    "id": 'echo "$USER_ID"',
    "apt-get": """
        echo "apt-get $*" >>"$CALLS"
        case "$*" in
          *--simulate*) printf 'Inst compiler (1)\\nInst library (2)\\nRemv old (3)\\n' ;;
          # What apt does with the files of packages before it unpacks them.
          install*) for word; do case $word in DPkg::Pre-Install-Pkgs::=*) ls "$DEBS"/* 2>/dev/null | sh -c "${word#*=}" || exit 100 ;; esac; done ;;
          update*) [ -z "$OFFLINE" ] || { echo "no route"; exit 100; }; touch "$LISTS" ;;
          download*) [ -e "$LISTS" ] || { echo "unknown package"; exit 100; }; touch "${@: -1}.deb" ;;
        esac""",
}

LIST = """\
# What building needs.
compiler   # makes programs
shell
server unpacked   # a server; installed, it would start
"""


class InstallPackages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "scripts").mkdir()
        for name in ("install-packages", "refuse-servers", "packages-services.txt"):
            shutil.copy(ROOT / "scripts" / name, self.folder / "scripts")
        (self.folder / "debs").mkdir()
        (self.folder / "list.txt").write_text(LIST)
        self.fakes = self.folder / "fakes"
        self.fakes.mkdir()
        for name, body in FAKES.items():
            (self.fakes / name).write_text(f"#!/bin/bash\n{body}\n")
            (self.fakes / name).chmod(0o755)
        # The tools of a real system, but neither its apt nor its sudo.
        for name in "sed awk tr sort cat mktemp rm mkdir touch dirname env bash sh ls grep tar dpkg-deb".split():
            (self.fakes / name).symlink_to(shutil.which(name))

    def run_it(self, installed="", user=0, offline=False):
        """What it was answered with, its exit status, and what apt, dpkg and sudo were asked for."""
        calls = self.folder / "calls"
        calls.write_text("")
        environment = {
            "PATH": str(self.fakes), "CALLS": str(calls), "INSTALLED": installed, "USER_ID": str(user),
            "LISTS": str(self.folder / "lists"), "OFFLINE": "yes" if offline else "", "TMPDIR": str(self.folder),
            "DEBS": str(self.folder / "debs"),
        }  # fmt: skip
        done = subprocess.run(
            [str(self.folder / "scripts/install-packages"), "make this", "list.txt"], env=environment,
            capture_output=True, text=True, cwd="/",
        )  # fmt: skip
        return done, calls.read_text().splitlines()

    def test_nothing_is_asked_of_apt_when_all_is_there(self):
        done, calls = self.run_it(installed="compiler shell server")
        self.assertEqual((done.returncode, done.stdout, done.stderr, calls), (0, "", "", []))

    def test_it_says_what_it_installs_and_why_before_it_does(self):
        done, calls = self.run_it(installed="shell server")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"make this needs these Debian packages.*\n +compiler +makes programs\n")
        self.assertIn("They bring with them: library \nThey replace: old \n", done.stdout)
        self.assertEqual([call.split()[1] for call in calls], ["update", "install", "install"])
        self.assertIn("--simulate", calls[1])
        self.assertRegex(calls[2], r"^apt-get install -q -y --no-install-recommends -o DPkg::Pre-Install-Pkgs::=.* compiler$")

    def test_what_apt_is_told_follows_what_the_reader_is_told(self):
        (self.fakes / "apt-get").write_text('#!/bin/bash\necho "APT $*"\n[ "$1" != update ]\n')
        done, _ = self.run_it(installed="shell server")
        self.assertEqual(done.returncode, 1)
        self.assertIn("makes programs", done.stdout)
        self.assertIn("Could not get: compiler", done.stderr)

    def test_a_server_is_unpacked_and_not_installed(self):
        done, calls = self.run_it(installed="compiler shell")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"are not installed:\n +server +a server; installed, it would start\n")
        self.assertEqual([call for call in calls if "install" in call], [])
        self.assertTrue((self.folder / ".build-tools/usr/bin/server").exists())
        self.assertEqual(self.run_it(installed="compiler shell")[1], [], "it was unpacked already")

    def test_a_failed_download_leaves_no_mark(self):
        done, _ = self.run_it(installed="compiler shell", offline=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("Could not get: server", done.stderr)
        self.assertFalse((self.folder / ".build-tools").exists())

    def test_others_than_root_use_sudo_to_install(self):
        _, calls = self.run_it(user=1000)
        self.assertTrue(any(re.match(r"sudo apt-get install -q -y .* compiler shell$", call) for call in calls), calls)
        self.assertNotIn("sudo apt-get download -q server", calls)

    def test_without_sudo_it_says_what_to_ask_for(self):
        (self.fakes / "sudo").unlink()
        done, calls = self.run_it(user=1000)
        self.assertEqual((done.returncode, calls), (1, []))
        self.assertIn("apt-get install compiler shell\n", done.stderr)

    def make_package(self, name, script):
        """A Debian package with a script that runs when it is installed."""
        control = self.folder / "package" / name / "DEBIAN"
        control.mkdir(parents=True)
        (control / "control").write_text(f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n")
        (control / "postinst").write_text("#!/bin/sh\n" + script)
        (control / "postinst").chmod(0o755)
        subprocess.run(["dpkg-deb", "--build", control.parent, self.folder / f"debs/{name}.deb"], check=True, capture_output=True)

    def test_a_package_that_would_start_a_service_is_refused(self):
        for script in ("deb-systemd-invoke start 'compiler.service'", "invoke-rc.d compiler start", "systemctl --now start compiler"):
            shutil.rmtree(self.folder / "package", ignore_errors=True)
            self.make_package("compiler", script)
            done, _ = self.run_it(installed="shell server")
            self.assertEqual(done.returncode, 1, script)
            self.assertIn("compiler would start a service", done.stderr)
            self.assertIn("Could not get: compiler", done.stderr)

    def test_other_packages_are_not_refused(self):
        self.make_package("compiler", "ldconfig\n")
        self.make_package("library", "deb-systemd-invoke start 'library.service'\n")
        (self.folder / "debs/shell.deb").write_bytes((self.folder / "debs/compiler.deb").read_bytes())
        self.assertEqual(self.run_it(installed="shell server")[0].returncode, 0)

    def test_a_package_that_may_start_its_service_is_not_refused(self):
        self.make_package("compiler", "deb-systemd-invoke start 'compiler.service'\n")
        (self.folder / "scripts/packages-services.txt").write_text("# Which.\ncompiler   # harmless\n")
        self.assertEqual(self.run_it(installed="shell server")[0].returncode, 0)

    def test_a_list_that_does_not_exist_is_an_error(self):
        (self.folder / "list.txt").unlink()
        self.assertNotEqual(self.run_it()[0].returncode, 0)


class Lists(unittest.TestCase):
    def lists_of(self, target, adapters=""):
        """The lists of a target, as `make` passes them."""
        said = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True, env={**os.environ, "ADAPTERS": adapters})
        (line,) = [line for line in said.stdout.splitlines() if line.startswith("scripts/install-packages")]
        return re.findall(r"\S+\.txt", line)

    def packages_of(self, target, adapters=""):
        lines = [line.split("#")[0].split() for name in self.lists_of(target, adapters) for line in (ROOT / name).read_text().splitlines()]
        return {words[0]: words[1:] for words in lines if words}

    def test_every_target_has_lists_whose_lines_have_reasons(self):
        for target in ("demo", "test", "lint", "bench", "docs", "api", "deb"):
            for name in self.lists_of(target):
                for line in (ROOT / name).read_text().splitlines():
                    self.assertRegex(line, r"^#|^[a-z0-9.+-]+( unpacked)? +# \S", name)

    def test_the_demo_needs_none_of_the_tests_tools(self):
        only_tests = self.packages_of("test").keys() - self.packages_of("demo").keys()
        self.assertLessEqual({"caddy", "ffmpeg", "strace", "systemd-container", "python3-venv"}, only_tests)

    def test_the_demo_installs_what_it_builds_and_runs_with_and_nothing_else(self):
        """Who adds a package to the demo adds it here, too, and none that only a test needs."""
        builds = (
            "libdbus-1-dev libbluetooth-dev libsqlite3-dev zlib1g-dev libopus-dev libopusenc-dev libflac-dev libsoxr-dev "
            "libsodium-dev pkg-config g++ git python3"
        )
        # btvirt of bluez-test-tools makes the virtual controllers, with a library that gcc compiles.
        radios = "qemu-system-x86 busybox-static bluez bluez-test-tools gcc libc6-dev dbus zstd"
        self.assertEqual(self.packages_of("demo").keys(), {*builds.split(), *radios.split()})
        self.assertEqual(self.packages_of("demo", adapters="hci0,hci1").keys(), set(builds.split()))

    def test_no_installed_package_of_a_target_starts_a_service(self):
        """The same as refuse-servers looks for, of the packages that are on this machine already."""
        may = {line.split()[0] for line in (ROOT / "scripts/packages-services.txt").read_text().splitlines() if line and line[0] != "#"}
        for target in ("demo", "test", "lint", "bench", "docs", "api", "deb"):
            for package, way in self.packages_of(target).items():
                scripts = [path for form in ("", ":*") for path in Path("/var/lib/dpkg/info").glob(f"{package}{form}.postinst")]
                starts = any(re.search(r"deb-systemd-invoke|invoke-rc\.d|systemctl.* (re)?start", path.read_text()) for path in scripts)
                self.assertFalse(starts and package not in may and "unpacked" not in way, f"make {target}: {package}")

    def test_no_target_installs_a_web_server(self):
        for target in ("demo", "test", "lint", "bench", "docs", "api", "deb"):
            self.assertEqual(self.packages_of(target).get("caddy", ["unpacked"]), ["unpacked"], target)


if __name__ == "__main__":
    unittest.main()
