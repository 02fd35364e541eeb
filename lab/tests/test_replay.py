"""The replay of recorded devices: the parser and the server without a guest, and once over the air."""
import contextlib
import hashlib
import io
import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tests.peer_cases import HAS_PEERS, LAB, NEEDS_PEERS, PYTHON, Case, events

sys.path.insert(0, str(LAB / "python"))

from runner import uml  # noqa: E402
from runner.cli import main, parse_replay  # noqa: E402
from runner.debian import missing_tools  # noqa: E402
from recording import NotARecording, Recording, only_device, read  # noqa: E402

RECORDINGS = LAB.parent / "Tests" / "BtsnoopTests" / "Recordings"
RECORDING = RECORDINGS / "gatt-peer.btsnoop"
KERNEL = "uml" if uml.built() else "qemu"


class Talk:
    """Writes the records of a connection."""

    def __init__(self) -> None:
        self.data = b"btsnoop\0" + struct.pack(">II", 1, 2001)
        self.time = 10**15

    def add(self, kind: int, content: bytes) -> None:
        self.time += 1000
        self.data += struct.pack(">IIIIQ", len(content), len(content), kind, 0, self.time) + content

    def connect(self, address: bytes) -> None:
        self.add(3, bytes([0x3E, 19, 1, 0, 1, 0, 0, 1]) + address + bytes([40, 0, 0, 0, 42, 0, 0]))

    def send(self, pdu: bytes, from_client: bool = True) -> None:
        content = struct.pack("<HH", len(pdu), 4) + pdu
        self.add(4 if from_client else 5, struct.pack("<HH", 1, len(content)) + content)

    def ask(self, request: bytes, response: bytes) -> None:
        self.send(request)
        self.send(response, False)


DEVICE = bytes([0x42, 0, 0, 0, 0, 0xC0])
ADDRESS = "C0:00:00:00:00:42"


def sensor() -> Talk:
    talk = Talk()
    talk.connect(DEVICE)
    talk.ask(bytes([0x02, 5, 2]), bytes([0x03, 100, 0]))
    talk.ask(bytes([0x10, 1, 0, 255, 255, 0, 0x28]), bytes([0x11, 6, 10, 0, 20, 0, 0x0D, 0x18]))
    talk.ask(bytes([0x08, 10, 0, 20, 0, 3, 0x28]), bytes([0x09, 7, 11, 0, 0x10, 12, 0, 0x37, 0x2A]))
    talk.ask(bytes([0x04, 13, 0, 20, 0]), bytes([0x05, 1, 13, 0, 2, 0x29]))
    talk.ask(bytes([0x0A, 3, 0]), bytes([0x0B, 1]))
    talk.ask(bytes([0x0A, 3, 0]), bytes([0x01, 0x0A, 3, 0, 0x81]))
    talk.ask(bytes([0x12, 13, 0, 1, 0]), bytes([0x13]))
    talk.send(bytes([0x1B, 12, 0, 7]), False)
    return talk


class Parsed(unittest.TestCase):
    def recorded(self, talk: Talk) -> Recording:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "it.btsnoop"
            path.write_bytes(talk.data)
            self.assertEqual(only_device(path), ADDRESS)
            return read(path, ADDRESS)

    def test_a_device_has_its_attributes_and_answers(self):
        device = self.recorded(sensor())
        self.assertEqual(device.mtu, 100)
        self.assertEqual(device.services, {10: (20, b"\x0d\x18", True)})
        self.assertEqual(device.characteristics, {11: (0x10, 12, b"\x37\x2a")})
        self.assertEqual(device.descriptors, {13: b"\x02\x29"})
        self.assertEqual(device.answers[3], [(0, b"\x01"), (0x81, b"")])

    def test_a_stream_belongs_to_its_subscription(self):
        talk = sensor()
        talk.ask(bytes([0x12, 3, 0, 9]), bytes([0x13]))
        talk.send(bytes([0x1B, 12, 0, 8]), False)
        reactions = {one.cause: [sent[2] for sent in one.sent] for one in self.recorded(talk).reactions}
        self.assertEqual(reactions[("subscription", 12)], [b"\x07", b"\x08"])
        self.assertEqual(reactions[("write", 3, b"\x09")], [])

    def test_a_write_to_another_service_causes_nothing(self):
        talk = sensor()
        talk.ask(bytes([0x10, 21, 0, 255, 255, 0, 0x28]), bytes([0x11, 6, 21, 0, 30, 0, 0x0F, 0x18]))
        talk.ask(bytes([0x12, 22, 0, 9]), bytes([0x13]))
        talk.send(bytes([0x1B, 12, 0, 8]), False)
        talk.ask(bytes([0x12, 13, 0, 1, 0]), bytes([0x13]))
        talk.ask(bytes([0x12, 22, 0, 8]), bytes([0x13]))
        talk.send(bytes([0x1B, 12, 0, 9]), False)
        reactions = [(one.cause, [sent[2] for sent in one.sent]) for one in self.recorded(talk).reactions if one.sent]
        self.assertEqual(reactions, [(("subscription", 12), [b"\x07", b"\x08"]), (("subscription", 12), [b"\x09"])])

    def test_several_values_in_one_packet(self):
        talk = sensor()
        talk.send(bytes([0x23, 12, 0, 1, 0, 8, 12, 0, 2, 0, 9, 9]), False)
        (reaction,) = [one for one in self.recorded(talk).reactions if one.sent]
        self.assertEqual([sent[2] for sent in reaction.sent], [b"\x07", b"\x08", b"\x09\x09"])

    def test_requests_of_the_device_are_no_responses(self):
        talk = sensor()
        talk.send(bytes([0x0A, 5, 0]))
        # The device is a client, too: it asks the host, which responds.
        for request, response in (([0x02, 23, 0], [0x03, 5, 2]), ([0x08, 1, 0, 255, 255, 3, 0x28], [0x01, 0x08, 1, 0, 0x0A])):
            talk.send(bytes(request), False)
            talk.send(bytes(response))
        talk.send(bytes([0x0B, 66]), False)
        device = self.recorded(talk)
        self.assertEqual((device.mtu, device.answers[5]), (100, [(0, b"\x42")]))

    def test_values_that_answer_a_write_belong_to_it(self):
        talk = Talk()
        talk.connect(DEVICE)
        talk.ask(bytes([0x12, 3, 0, 9]), bytes([0x13]))
        talk.send(bytes([0x1B, 12, 0, 8]), False)
        self.assertEqual([one.cause for one in self.recorded(talk).reactions if one.sent], [("write", 3, b"\x09")])

    def test_the_recording_of_the_lab(self):
        device = read(RECORDING, only_device(RECORDING))
        self.assertEqual(len(device.characteristics), 13)
        self.assertIn(b"gatt-lab", device.scan_response)

    def test_other_files_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "it"
            for data in (b"", b"text", b"btsnoop\0" + struct.pack(">II", 2, 2001), b"btsnoop\0" + struct.pack(">II", 1, 7)):
                path.write_bytes(data)
                with self.assertRaises(NotARecording):
                    read(path, ADDRESS)
            # A file that is cut, or has any bytes, ends early.
            whole = sensor().data
            for end in range(16, len(whole), 7):
                path.write_bytes(whole[:end])
                with contextlib.suppress(NotARecording):
                    read(path, ADDRESS)


class CommandLine(unittest.TestCase):
    def test_the_options_of_run_and_its_own(self):
        job = parse_replay([str(RECORDING), "--pace", "0", "--timeout", "9", "--", "prog", "-x"])
        self.assertEqual((job.controllers, job.timeout, job.command[-2:]), (0, 9.0, ["prog", "-x"]))
        self.assertIn("--timeout 999999 --pace 0", job.command)

    def test_wrong_usage_is_refused(self):
        for words in (["nothing.btsnoop", "--", "true"], [str(RECORDING)], [str(RECORDING), "--pace", "-1", "--", "true"]):
            with contextlib.redirect_stderr(io.StringIO()):
                try:
                    code = main(["replay", *words])
                except SystemExit as end:
                    code = end.code
            self.assertEqual(code, 2, words)


@unittest.skipUnless(HAS_PEERS, NEEDS_PEERS)
class Served(unittest.TestCase):
    """The peer's server, with the peers' interpreter and without a guest."""

    def test_answers(self):
        script = f"""
import asyncio, sys
sys.path[:0] = [{str(LAB / 'python')!r}, {str(LAB)!r}]
from replay_peer import Server
from recording import Recording, Reaction
device = Recording("C0:00:00:00:00:42", mtu=100, services={{10: (20, b"\\x0d\\x18", True)}},
    characteristics={{11: (0x12, 12, b"\\x37\\x2a")}}, descriptors={{13: b"\\x02\\x29"}}, answers={{12: [(0, b"abc"), (0x81, b"")]}},
    reactions=[Reaction(("subscription", 12), 0, 0, [(0.0, 12, b"x", False)])], protected=set())
class Link:
    att_mtu, is_encrypted, sent = 23, False, []
    def send_l2cap_pdu(self, channel, pdu): self.sent.append(pdu)
async def run():
    link, server = Link(), Server(device, 0)
    ask = lambda *pdu: server.handle(link, bytes(pdu))
    assert ask(0x10, 1, 0, 255, 255, 0, 0x28) == bytes([0x11, 6, 10, 0, 20, 0, 0x0d, 0x18])
    assert ask(0x10, 11, 0, 255, 255, 0, 0x28) == bytes([1, 0x10, 11, 0, 0x0a])
    assert ask(0x08, 10, 0, 20, 0, 3, 0x28) == bytes([9, 7, 11, 0, 0x12, 12, 0, 0x37, 0x2a])
    assert ask(0x04, 13, 0, 20, 0) == bytes([5, 1, 13, 0, 2, 0x29])
    assert ask(0x06, 1, 0, 255, 255, 0, 0x28, 0x0d, 0x18) == bytes([7, 10, 0, 20, 0])
    assert ask(0x0a, 12, 0) == b"\\x0babc"
    assert ask(0x0c, 12, 0, 1, 0) == b"\\x0dbc"
    assert ask(0x0a, 12, 0) == bytes([1, 0x0a, 12, 0, 0x81])
    assert ask(0x0a, 99, 0) == bytes([1, 0x0a, 99, 0, 1])
    assert ask(0x12, 12, 0, 5) == bytes([1, 0x12, 12, 0, 3])
    assert ask(0x12, 13, 0, 1, 0) == b"\\x13"
    await asyncio.sleep(0.05)
    assert link.sent == [b"\\x1b\\x0c\\x00x"], link.sent
    assert ask(0x0a, 13, 0) == bytes([0x0b, 1, 0])
    assert ask(0x52, 12, 0, 5) is None
    whole = Server(Recording("C0:00:00:00:00:42", services={{10: (20, b"\\x0d\\x18", True)}}, includes={{11: bytes([30, 0, 35, 0, 0x0f, 0x18])}}), 0)
    assert whole.handle(link, bytes([0x08, 10, 0, 20, 0, 2, 0x28])) == bytes([9, 8, 11, 0, 30, 0, 35, 0, 0x0f, 0x18])
    bare = Server(Recording("C0:00:00:00:00:42", characteristics={{11: (0x10, 12, b"\\x37\\x2a")}}), 0)
    assert bare.handle(link, bytes([0x12, 13, 0, 1, 0])) == b"\\x13"
asyncio.run(run())
"""
        done = subprocess.run([str(PYTHON), "-c", script], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@unittest.skipUnless(HAS_PEERS, NEEDS_PEERS)
@unittest.skipIf(missing_tools(KERNEL), "the lab's packages are not installed: see lab/radio-lab doctor")
class OverTheAir(Case):
    """Recorded devices and programs that others wrote, in a guest."""

    def replay(self, name: str, script: str) -> list[dict]:
        """What the script printed; it asked for nothing that the recording does not have."""
        with tempfile.TemporaryDirectory() as folder:
            command = [LAB / "radio-lab", "replay", RECORDINGS / f"{name}.btsnoop", "-q", "--kernel", KERNEL]
            command += ["--timeout", "360", "--out", folder, "--", "sh", "-c", f"cd {LAB / 'tests'}; {script}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            said = events((Path(folder) / "replay.out").read_text())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + json.dumps(said))
        self.assertEqual([event for event in said if event["event"] == "unrecorded"], [])
        return events(done.stdout)

    def test_bleak_asks_a_phone(self):
        # It tells of attempts that failed, too: see bluez_central.py.
        reply = self.only(self.replay("phone", f"{PYTHON} -B bluez_central.py 120 hello"), "bluez-reply")
        self.assertEqual(reply["sha256"], hashlib.sha256(b"[echo engine] hello").hexdigest())

    def test_bluetoothctl_pairs_with_a_strongbox(self):
        secret = "ec0d0603-ec0d-ec0d-ec0d-ec0d0603ec0d"
        seen = self.replay("strongbox", f'{PYTHON} -B bluetoothctl_central.py "$RADIO_LAB_REPLAY" {secret}')
        read = self.only(seen, "read")
        self.assertEqual(bytes.fromhex(read["hex"]), b"only for friends")


if __name__ == "__main__":
    unittest.main()
