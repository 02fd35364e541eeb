"""The EdgeCoder peers, each with a counterpart on BlueZ inside a guest."""
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.peer_cases import HAS_PEERS, LAB, NEEDS_PEERS, PYTHON, Case, events

from runner import uml
from runner.debian import missing_tools

KERNEL = "uml" if uml.built() else "qemu"


@unittest.skipUnless(HAS_PEERS, NEEDS_PEERS)
@unittest.skipIf(missing_tools(KERNEL), "the lab's packages are not installed: see lab/radio-lab doctor")
class InGuest(Case):
    def lab(self, script: str, *options: str) -> list[dict]:
        done = run_lab(script, *(options or ["--no-btvirt"]))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return events(done.stdout)


def run_lab(script: str, *options: str) -> subprocess.CompletedProcess:
    script = f"python={PYTHON}; cd {LAB / 'python'}; export PYTHONDONTWRITEBYTECODE=1; {script}"
    command = [LAB / "radio-lab", "run", "-q", "--kernel", KERNEL, "--timeout", "360", *options]
    return subprocess.run([*command, "--", "sh", "-c", script], capture_output=True, text=True, timeout=600)


def central(options: str, reply_bytes: str = "") -> str:
    """A central on Bumble, against a phone on BlueZ."""
    return f"$python ../tests/bluez_phone.py 140 {reply_bytes} & $python start.py edgecoder_central.py {options}; code=$?; kill $!; wait; exit $code"


def phone(options: str, prompts: str = "hello") -> str:
    """A phone on Bumble, against a central on BlueZ."""
    return f"$python start.py edgecoder_phone.py {options} & $python ../tests/bluez_central.py 120 {prompts}; code=$?; kill $!; wait; exit $code"


class WithBlueZ(InGuest):
    """One guest for all: each test's script has run in it, one after the other, when the first test begins."""

    SCRIPTS = {
        "central": central("--prompt-bytes 20 --prompt-bytes 600 --prompt-bytes 20000"),
        "odd-cuts": central("--prompt-bytes 600 --mtu 23 --split-writes 3"),
        "disconnect": central("--disconnect-after-chunks 3", reply_bytes="5000"),
        "radio-loss": central("--radio-loss-after-chunks 3", reply_bytes="5000"),
        "two-centrals": central("--centrals 2", reply_bytes="2000"),
        "phone": phone("--reply-bytes 16384 --mtu 185", "one two"),
        "split-utf8": phone("--split-utf8 --reply-bytes 3000"),
        "faults": """
            $python start.py edgecoder_phone.py --stall > phone.out & phone=$!
            $python ../tests/bluez_central.py 120 hello > /dev/null 2>&1 & central=$!
            until grep -q stalled phone.out; do sleep 0.1; done
            lab-fault radio slow 4000; lab-fault radio latency 0.01; lab-fault radio clear
            lab-fault radio loss 0.3
            until grep -q disconnected phone.out; do sleep 0.1; done
            kill $phone $central; wait; cat phone.out
            lab-fault radio silent && exit 1 || true
            """,
    }

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        one = "({script}) > /lab/{name}.out 2> /lab/{name}.err; echo $? > /lab/{name}.code\n"
        script = "".join(one.format(name=name, script=script) for name, script in cls.SCRIPTS.items())
        cls.guest = run_lab(script, "--no-btvirt", "--out", folder.name)

    def seen(self, name: str) -> list[dict]:
        def text(kind: str) -> str:
            file = self.folder / f"{name}.{kind}"
            return file.read_text() if file.exists() else f"no {file.name}: {self.guest.stderr}"

        self.assertEqual(text("code"), "0\n", text("out") + text("err"))
        return events(text("out"))

    def test_central(self):
        seen = self.seen("central")
        self.assertEqual([reply["echo"] for reply in self.replies(seen)], [True] * 3)
        self.assertLessEqual(max(event["bytes"] for event in seen if event["event"] == "bluez-write"), 508)

    def test_central_with_a_small_mtu_and_odd_cuts(self):
        seen = self.seen("odd-cuts")
        self.assertTrue(self.replies(seen)[0]["echo"])
        self.assertEqual({event["mtu"] for event in seen if event["event"] == "bluez-write"}, {23})

    def test_central_that_breaks_the_link(self):
        for fault in ("disconnect", "radio-loss"):
            with self.subTest(fault):
                self.assertEqual(self.replies(self.seen(fault))[0]["output_bytes"], 5000)

    def test_two_centrals(self):
        seen = self.seen("two-centrals")
        self.assertEqual(sorted(reply["central"] for reply in self.replies(seen)), [0, 1])

    def test_phone(self):
        seen = self.seen("phone")
        received = [event for event in seen if event["event"] == "bluez-reply"]
        sent = [event for event in seen if event["event"] == "reply"]
        self.assertEqual([event["sha256"] for event in received], [event["sha256"] for event in sent])
        self.assertEqual({event["largest_chunk"] for event in received}, {182})
        self.only(seen, "stopped")

    def test_phone_with_characters_across_every_edge(self):
        seen = self.seen("split-utf8")
        self.assertEqual(self.only(seen, "bluez-reply")["sha256"], self.only(seen, "reply")["sha256"])

    def test_radio_faults_by_name(self):
        lost = [event for event in self.seen("faults") if event["event"] == "disconnected"]
        self.assertEqual([event["reason"] for event in lost], [8])


class AloneInAGuest(InGuest):
    """Each test boots a guest of its own."""

    def test_peers_that_start_at_once(self):
        seen = self.lab(
            """
            $python start.py air.py --nonsense 2> wrong.err; [ $? = 2 ] && grep -q nonsense wrong.err || exit 3
            $python start.py air.py --timeout 0.1 || exit 4
            $python start.py edgecoder_phone.py > phone.out & phone=$!
            until grep -q advertising phone.out; do sleep 0.1; done
            kill $phone
            until grep -q stopped phone.out; do sleep 0.1; done
            cat phone.out
            $python ../tests/late_packet.py || exit 5
            """)
        # The same one twice: the first had gone with its peer.
        self.assertEqual([event["name"] for event in seen if event["event"] == "adapter"], ["hci0", "hci0"])

    def test_adapters_on_bumble(self):
        seen = self.lab(
            """
            addresses() { bluetoothctl list | cut -d' ' -f2 | sort; }
            before=$(addresses); lab-fault controllers kill; lab-fault controllers start
            [ "$before" = "$(addresses)" ] && echo '{"event":"same","count":'$(echo "$before" | wc -l)'}'
            lab-fault radio silent && lab-fault radio clear
            """, "--radio", "bumble")  # fmt: skip
        self.assertEqual(self.only(seen, "same")["count"], 2)
