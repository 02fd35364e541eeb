"""Whole runs: every case here boots a guest. test_qemu.py and test_uml.py say under which kernel."""
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent

BOOT_LIMIT = 240


class Runs:
    """The cases, for a kernel."""

    kernel: str

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        # Guests and folders that a run leaves behind can be told from other people's by this folder.
        self.environment = {**os.environ, "TMPDIR": str(self.folder)}

    def command(self, *words: str) -> list[str]:
        return [str(LAB / "radio-lab"), "run", "--kernel", self.kernel, *words]

    def run_lab(self, *words: str, **options) -> subprocess.CompletedProcess:
        done = subprocess.run(
            self.command(*words), capture_output=True, text=True, timeout=BOOT_LIMIT, env=self.environment, **options)  # fmt: skip
        self.assert_nothing_is_left()
        return done

    def shell(self, script: str, *options: str, **more) -> subprocess.CompletedProcess:
        return self.run_lab(*options, "--", "sh", "-c", script, **more)

    def assert_nothing_is_left(self):
        self.assertEqual([path.name for path in self.folder.glob("radio-lab.*")], [])
        self.assertEqual(self.guests(), [])

    def guests(self) -> list[str]:
        """Command lines of guests that serve a folder of this test."""
        found = []
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if f"{self.folder}/radio-lab." in line:
                found.append(line)
        return found

    def test_streams_and_exit_code(self):
        done = self.shell("echo to out; echo to err >&2; cat; exit 7", input="never seen")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "to out\n", "to err\n"))

    def test_the_world_inside(self):
        marker = self.folder / "on the host"
        marker.write_text("untouched")
        (self.folder / "out").mkdir()
        done = self.shell(
            f'pwd; echo "$EDGEBLUE_ADAPTERS $RADIO_LAB $A"; echo changed > "{marker}"; cat "{marker}"; echo kept > /lab/file;'
            'ls /sys/class/net; touch "$HOME/writable" && echo home; command -v lab-fault > /dev/null && echo faults;'
            "bluetoothctl list | wc -l; env | grep -c BOOT_TIMES",
            "--controllers", "3", "--env", "A=b c", "--out", str(self.folder / "out"), cwd=self.folder)  # fmt: skip
        self.assertEqual(
            done.stdout.splitlines(),
            [str(self.folder), "hci0,hci1,hci2 1 b c", "changed", "lo", "home", "faults", "3", "0"],
        )
        self.assertEqual(marker.read_text(), "untouched")
        kept = sorted(path.name for path in (self.folder / "out").iterdir())
        self.assertEqual(kept, ["bluetoothd.log", "console.log", "controllers.log", "file"])

    def test_a_large_output_arrives_whole(self):
        done = self.shell("seq 200000; seq 1000 >&2; exec sleep 0")
        self.assertEqual(done.stdout, "".join(f"{number}\n" for number in range(1, 200001)))
        self.assertEqual(done.stderr, "".join(f"{number}\n" for number in range(1, 1001)))

    def test_output_is_live(self):
        with subprocess.Popen(
            self.command("--", "sh", "-c", "echo first; sleep 60"), stdout=subprocess.PIPE, env=self.environment
        ) as running:
            self.assertEqual(running.stdout.readline(), b"first\n")
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.wait(20), 130)
        self.assert_nothing_is_left()

    def test_sigterm_cleans_up(self):
        with subprocess.Popen(self.command("--", "sleep", "60"), env=self.environment) as running:
            deadline = time.monotonic() + BOOT_LIMIT
            while not self.guests() and time.monotonic() < deadline:
                time.sleep(0.05)
            running.terminate()
            self.assertEqual(running.wait(20), 143)
        self.assert_nothing_is_left()

    def test_a_killed_runner_takes_its_guest_along(self):
        with subprocess.Popen(self.command("--", "sh", "-c", "echo; sleep 60"), stdout=subprocess.PIPE, env=self.environment) as running:
            running.stdout.readline()
            running.kill()
        deadline = time.monotonic() + 20
        while self.guests() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.guests(), [])

    def test_a_reader_that_goes_away_ends_the_run(self):
        with subprocess.Popen(self.command("--", "yes"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.environment) as running:
            running.stdout.readline()
            running.stdout.close()
            self.assertEqual(running.wait(60), 141)
        self.assert_nothing_is_left()

    def test_time_out(self):
        done = self.shell("echo begun; sleep 60", "--timeout", "2")
        self.assertEqual((done.returncode, done.stdout), (124, "begun\n"))
        self.assertIn("did not end within 2 s", done.stderr)

    def test_a_guest_that_cannot_come_up_in_time(self):
        done = self.shell("true", "--boot-timeout", "0.05")
        self.assertEqual(done.returncode, 125)
        self.assertIn("was not ready within 0.05 s", done.stderr)

    def test_a_bluetoothd_that_does_not_start(self):
        done = self.shell("true", "--bluetoothd-args=--no-such-option")
        self.assertEqual(done.returncode, 125)
        self.assertIn("could not be set up: bluetoothd ended", done.stderr)

    def test_capture(self):
        file = self.folder / "traffic.btsnoop"
        done = self.shell("bluetoothctl show > /dev/null; lab-fault adapter off hci0; lab-fault adapter on hci0", "--capture", str(file))
        self.assertEqual(done.returncode, 0, done.stderr)
        read = subprocess.run(["btmon", "-r", file], capture_output=True, text=True)
        self.assertEqual(read.returncode, 0)
        self.assertIn("Set Powered", read.stdout)

    def test_faults(self):
        done = self.shell(
            """
            set -e
            powered() { bluetoothctl show | grep Powered | tr -d '\\t'; }
            lab-fault adapter off hci0; lab-fault adapter off hci1; powered
            lab-fault adapter on hci0; lab-fault adapter on hci1; powered
            lab-fault bluetoothd kill; pidof bluetoothd || echo killed
            lab-fault bluetoothd start; bluetoothctl list | wc -l
            lab-fault bluetoothd restart; bluetoothctl list | wc -l
            lab-fault bluetoothd stop; pidof bluetoothd || echo stopped
            lab-fault bluetoothd start
            lab-fault bus restart; bluetoothctl list | wc -l
            lab-fault controllers kill; ls /sys/class/bluetooth | wc -l
            lab-fault controllers start; bluetoothctl list | wc -l
            lab-fault capture start /lab/some.btsnoop; lab-fault capture stop; btmon -r /lab/some.btsnoop > /dev/null; echo captured
            lab-fault controllers start || echo refused
            """)
        self.assertEqual(
            done.stdout.splitlines(),
            ["Powered: no", "Powered: yes", "killed", "2", "2", "stopped", "2", "0", "2", "captured", "refused"],
            done.stderr,
        )

    def test_without_daemons(self):
        done = self.shell(
            "ls /sys/class/bluetooth | wc -l; pidof bluetoothd || echo none; ls /dev/vhci; lab-fault bluetoothd start || lab-fault controllers start",
            "--no-bluetoothd", "--no-btvirt")  # fmt: skip
        self.assertEqual(done.stdout, "0\nnone\n/dev/vhci\n")
        self.assertIn("--no-bluetoothd", done.stderr)
        self.assertIn("--no-btvirt", done.stderr)

    def test_a_command_that_does_not_exist(self):
        done = self.run_lab("--", "no-such-command")
        self.assertEqual(done.returncode, 127)
        self.assertIn("no-such-command", done.stderr)
