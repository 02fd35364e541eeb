"""Whole runs: every case here boots a guest. test_qemu.py and test_uml.py say under which kernel."""
import subprocess
import unittest

from tests.guests import BARE, Guests
from tests.peer_cases import HAS_PEERS, NEEDS_PEERS


class Runs(Guests):
    """What a guest is like, and what can be done in it."""

    def test_streams_and_exit_code(self):
        done = self.shell("echo to out; echo to err >&2; cat; exit 7", *BARE, input="never seen")
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
        done = self.shell("seq 200000; seq 1000 >&2; exec sleep 0", *BARE)
        self.assertEqual(done.stdout, "".join(f"{number}\n" for number in range(1, 200001)))
        self.assertEqual(done.stderr, "".join(f"{number}\n" for number in range(1, 1001)))

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
            *BARE)
        self.assertEqual(done.stdout, "0\nnone\n/dev/vhci\n")
        self.assertIn("--no-bluetoothd", done.stderr)
        self.assertIn("--no-btvirt", done.stderr)

    @unittest.skipUnless(HAS_PEERS, NEEDS_PEERS)
    def test_a_link_over_which_nothing_came_ends(self):
        """The kernel that was chosen does not die of it: see dies() in runner/debian.py."""
        self.end_a_silent_link()
