"""Whole runs under user-mode Linux, where it has been built."""
import time
import unittest

from tests.guest_ends import Ends
from tests.guest_runs import Runs
from tests.guests import BARE, BOOT_LIMIT

from runner import uml


@unittest.skipUnless(uml.built(), "user-mode Linux is not built: see lab/radio-lab build-uml")
class UserModeLinux(Runs, Ends, unittest.TestCase):
    kernel = "uml"

    def test_a_kernel_that_dies(self):
        done = self.shell("busybox halt -f; sleep 60", *BARE)
        self.assertEqual(done.returncode, 125)
        self.assertIn("died under the command", done.stderr)

    def test_virtual_time(self):
        begun = time.monotonic()
        done = self.shell("cut -d. -f1 /proc/uptime; sleep 1000; cut -d. -f1 /proc/uptime", "--virtual-time", *BARE)
        before, after = map(int, done.stdout.split())
        self.assertIn(after - before, (1000, 1001))
        self.assertLess(time.monotonic() - begun, BOOT_LIMIT)
