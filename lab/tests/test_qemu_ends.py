"""Ends of whole runs under QEMU, apart from the others so that both can run at the same time."""
import unittest

from tests.guest_ends import Ends
from tests.guests import BARE

from runner.debian import missing_tools


@unittest.skipIf(missing_tools("qemu"), "the lab's packages are not installed: see lab/radio-lab doctor")
class QemuEnds(Ends, unittest.TestCase):
    kernel = "qemu"

    def test_a_kernel_that_dies(self):
        done = self.shell("echo c > /proc/sysrq-trigger; sleep 60", *BARE)
        self.assertEqual(done.returncode, 125)
        self.assertIn("died under the command", done.stderr)
        self.assertIn("Kernel panic - not syncing: sysrq triggered crash", done.stderr)
