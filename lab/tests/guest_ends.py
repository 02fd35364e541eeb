"""Ends of whole runs: every case here boots a guest. test_qemu_ends.py and test_uml.py say under which kernel."""
import signal
import subprocess
import time

from tests.guests import BARE, BOOT_LIMIT, Guests


class Ends(Guests):
    """How a run ends, or does not even begin."""

    def test_output_is_live(self):
        with subprocess.Popen(
            self.command(*BARE, "--", "sh", "-c", "echo first; sleep 60"), stdout=subprocess.PIPE, env=self.environment
        ) as running:
            self.assertEqual(running.stdout.readline(), b"first\n")
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.wait(20), 130)
        self.assert_nothing_is_left()

    def test_sigterm_cleans_up(self):
        with subprocess.Popen(self.command(*BARE, "--", "sleep", "60"), env=self.environment) as running:
            deadline = time.monotonic() + BOOT_LIMIT
            while not self.guests() and time.monotonic() < deadline:
                time.sleep(0.05)
            running.terminate()
            self.assertEqual(running.wait(20), 143)
        self.assert_nothing_is_left()

    def test_a_killed_runner_takes_its_guest_along(self):
        with subprocess.Popen(self.command(*BARE, "--", "sh", "-c", "echo; sleep 60"), stdout=subprocess.PIPE, env=self.environment) as running:
            running.stdout.readline()
            running.kill()
        deadline = time.monotonic() + 20
        while self.guests() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.guests(), [])

    def test_a_reader_that_goes_away_ends_the_run(self):
        with subprocess.Popen(self.command(*BARE, "--", "yes"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.environment) as running:
            running.stdout.readline()
            running.stdout.close()
            self.assertEqual(running.wait(60), 141)
        self.assert_nothing_is_left()

    def test_time_out(self):
        done = self.shell("echo begun; sleep 60", "--timeout", "2", *BARE)
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

    def test_a_command_that_does_not_exist(self):
        done = self.run_lab(*BARE, "--", "no-such-command")
        self.assertEqual(done.returncode, 127)
        self.assertIn("no-such-command", done.stderr)
