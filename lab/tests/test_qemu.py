"""Whole runs under QEMU."""
import unittest
from pathlib import Path

from tests.guest_runs import Runs
from tests.guests import BARE
from tests.peer_cases import HAS_PEERS, LAB, NEEDS_PEERS, PYTHON, events

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

    @unittest.skipUnless(HAS_PEERS, NEEDS_PEERS)
    def test_a_link_over_which_nothing_came_ends(self):
        """The kernel that was chosen does not die of it: see dies() in runner/debian.py."""
        done = self.run_lab("--no-btvirt", "--", str(PYTHON), "-B", str(LAB / "tests/silent_device.py"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([event["event"] for event in events(done.stdout)], ["request", "ended", "result"])
