"""What cases have in common that boot a guest each."""
import os
import subprocess
import tempfile
from pathlib import Path

from tests.peer_cases import LAB, PYTHON, events

BOOT_LIMIT = 240

# For what needs no radio: a second less to boot.
BARE = ("--no-bluetoothd", "--no-btvirt")


class Guests:
    """Runs guests under a kernel."""

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

    def end_a_silent_link(self, *options: str):
        """Let the guest connect to a device that sends nothing and ends the connection, and see that it survives."""
        done = self.run_lab(*options, "--no-btvirt", "--", str(PYTHON), "-B", str(LAB / "tests/silent_device.py"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        ended, _ = events(done.stdout)
        self.assertGreater(ended["requests"], 0)

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
