"""What `radio-lab run` accepts, and what it says to the rest. No guest is started."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(LAB))

from runner.cli import main, parse_run  # noqa: E402


class Accepted(unittest.TestCase):
    def test_defaults(self):
        job = parse_run(["--", "true"])
        self.assertEqual((job.command, job.kernel, job.controllers, job.memory), (["true"], "qemu", 2, 1024))
        self.assertTrue(job.bluetoothd)
        self.assertEqual(job.channels, 1)
        self.assertIsNone(job.out)

    def test_the_cpu_is_that_of_qemu(self):
        self.assertEqual(parse_run(["--", "true"]).cpu, "qemu64,+rdrand")
        self.assertEqual(parse_run(["--cpu", "max,la57=off", "--", "true"]).cpu, "max,la57=off")

    def test_eatt_may_say_how_many_channels(self):
        for options, channels in (([], 1), (["--eatt"], 3), (["--eatt", "2"], 2)):
            self.assertEqual(parse_run([*options, "--", "true"]).channels, channels)

    def test_everything_behind_the_border_is_the_command(self):
        self.assertEqual(parse_run(["--", "sh", "-c", "--", "--timeout"]).command, ["sh", "-c", "--", "--timeout"])

    def test_no_btvirt_means_no_controllers(self):
        self.assertEqual(parse_run(["--no-btvirt", "--", "true"]).controllers, 0)

    def test_variables_are_set_or_passed_on(self):
        os.environ["RADIO_LAB_TEST"] = "from here"
        job = parse_run(["--env", "A=b=c", "--env", "RADIO_LAB_TEST", "--env", "EMPTY=", "--", "true"])
        self.assertEqual(job.environment, {"A": "b=c", "RADIO_LAB_TEST": "from here", "EMPTY": ""})

    def test_bluetoothd_arguments_are_split_like_a_shell_does(self):
        self.assertEqual(parse_run(["--bluetoothd-args=-d -P 'a b'", "--", "true"]).bluetoothd_args, ["-d", "-P", "a b"])


class Refused(unittest.TestCase):
    def complaint(self, *arguments: str) -> str:
        spoken = io.StringIO()
        with contextlib.redirect_stderr(spoken):
            try:
                code = main(["run", *arguments])
            except SystemExit as end:
                code = end.code
        self.assertEqual(code, 2)
        return spoken.getvalue()

    def test_no_command(self):
        self.assertIn("put it after `--`", self.complaint())
        self.assertIn("put it after `--`", self.complaint("--"))

    def test_a_command_without_border(self):
        self.assertIn("unrecognized arguments: true", self.complaint("true"))

    def test_numbers(self):
        for value in ("0", "9", "-1", "two", "1.5", "²", ""):
            self.assertIn("is not a whole number from 1 to 8", self.complaint(f"--controllers={value}", "--", "true"))
        for value in ("0", "-1", "soon", "nan", "inf", ""):
            self.assertIn("is not a number of seconds", self.complaint(f"--timeout={value}", "--", "true"))

    def test_a_cpu_for_user_mode_linux(self):
        self.assertIn("--cpu needs --kernel qemu", self.complaint("--kernel", "uml", "--cpu", "max", "--", "true"))

    def test_abbreviations(self):
        self.assertIn("unrecognized arguments: --time", self.complaint("--time=5", "--", "true"))

    def test_contradictions(self):
        self.assertIn("excludes --controllers", self.complaint("--no-btvirt", "--controllers", "2", "--", "true"))
        self.assertIn("excludes --controllers", self.complaint("--no-btvirt", "--radio", "bumble", "--", "true"))
        self.assertIn("needs --kernel uml", self.complaint("--virtual-time", "--", "true"))
        self.assertIn("not allowed with", self.complaint("-q", "-v", "--", "true"))

    def test_paths(self):
        with tempfile.NamedTemporaryFile() as file:
            self.assertIn("is not a folder", self.complaint("--out", file.name, "--", "true"))
        self.assertIn("cannot write a file", self.complaint("--capture", "/nonexistent/file", "--", "true"))
        self.assertIn("cannot write a file", self.complaint("--capture", "/tmp", "--", "true"))

    def test_variables(self):
        self.assertIn("is not a variable's name", self.complaint("--env", "1A=b", "--", "true"))
        self.assertIn("is not a variable's name", self.complaint("--env", "=b", "--", "true"))
        self.assertIn("cannot be passed on", self.complaint("--env", "RADIO_LAB_NOT_SET", "--", "true"))

    def test_unbalanced_quotes(self):
        self.assertIn("--bluetoothd-args", self.complaint("--bluetoothd-args='", "--", "true"))


class Words(unittest.TestCase):
    def radio_lab(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([LAB / "radio-lab", *arguments], capture_output=True, text=True)

    def test_help_is_asked_for_or_given(self):
        for arguments in (["help"], ["--help"], []):
            done = self.radio_lab(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("radio-lab run", done.stdout)

    def test_an_unknown_word(self):
        done = self.radio_lab("fly")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("unknown word: fly", done.stderr)

    def test_a_word_with_arguments_it_does_not_take(self):
        done = self.radio_lab("doctor", "--fast")
        self.assertEqual(done.returncode, 2)
        self.assertIn("doctor takes no arguments", done.stderr)
        done = self.radio_lab("prepare", "--fast")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unrecognized arguments: --fast", done.stderr)


if __name__ == "__main__":
    unittest.main()
