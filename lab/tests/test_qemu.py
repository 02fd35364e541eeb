"""Whole runs under QEMU."""
import unittest
from pathlib import Path

from tests.guest_runs import Runs
from tests.guests import BARE

from runner import counter
from runner.debian import missing_tools


@unittest.skipIf(missing_tools("qemu"), "the lab's packages are not installed: see lab/radio-lab doctor")
class Qemu(Runs, unittest.TestCase):
    kernel = "qemu"

    def test_the_host_is_out_of_reach(self):
        done = self.shell("mkdir /tmp/root && mount -t 9p -o trans=virtio,rw root /tmp/root; touch /tmp/root/etc/radio-lab-was-here", *BARE)
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse(Path("/etc/radio-lab-was-here").exists())

    @unittest.skipIf(counter.kilohertz() is None, "this processor's counter cannot be read")
    def test_the_clock_runs_as_fast_as_the_hosts(self):
        done = self.shell("dmesg | sed -n 's/.*tsc: Detected \\([0-9]*\\)[.]\\([0-9]*\\) MHz \\(processor\\|TSC\\)$/\\1\\2/p' | tail -n 1", *BARE)
        self.assertAlmostEqual(int(done.stdout) / counter.kilohertz(), 1, delta=0.01)
