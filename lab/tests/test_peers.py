"""The EdgeCoder peers with each other on one air."""
import hashlib
import subprocess
import unittest

from tests.peer_cases import HAS_PEERS, LAB, NEEDS_PEERS, PYTHON, Case, events


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


@unittest.skipUnless(HAS_PEERS, NEEDS_PEERS)
class Together(Case):
    """No guest, no BlueZ: seconds."""

    def pair(self, phone: str, central: str, expected: int = 0) -> list[dict]:
        command = [PYTHON, "-B", LAB / "tests/peer_pair.py", *phone.split(), "--", *central.split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, expected, done.stdout + done.stderr)
        return events(done.stdout)

    def test_an_echo(self):
        seen = self.pair("", "--prompt hello")
        reply = self.only(self.replies(seen), "reply")
        self.assertEqual((reply["sha256"], reply["chunks"], reply["mtu"], reply["ok"]), (digest(b"hello"), 1, 517, True))
        self.assertEqual(reply["statuses"][0], {"modelState": "ready"})

    def test_chunks_fit_the_mtu(self):
        for mtu, largest in ((23, 20), (185, 182), (247, 244), (515, 512), (517, 512)):
            with self.subTest(mtu=mtu):
                (reply,) = self.replies(self.pair("--message-bytes 5120", f"--mtu {mtu}"))
                self.assertEqual((reply["largest_chunk"], reply["message_bytes"]), (largest, 5120))
                self.assertGreater(reply["gap_ms_median"], 9)

    def test_the_edge_of_one_chunk(self):
        for size, chunks in ((512, 1), (513, 2)):
            (reply,) = self.replies(self.pair(f"--message-bytes {size}", ""))
            self.assertEqual((reply["message_bytes"], reply["chunks"]), (size, chunks))

    def test_a_request_cut_anywhere(self):
        seen = self.pair("", "--prompt-bytes 2000 --split-writes 7 --mtu 60")
        self.assertGreater(self.only(seen, "request")["writes"], 30)
        self.assertTrue(self.replies(seen)[0]["echo"])

    def test_characters_across_every_edge(self):
        (reply,) = self.replies(self.pair("--split-utf8 --reply-bytes 3000", "--mtu 185"))
        self.assertGreaterEqual(reply["output_bytes"], 3000)

    def test_several_prompts_at_once_are_answered_in_order(self):
        seen = self.pair("--reply-bytes 3000", "--prompt a --prompt b --prompt c --pipeline")
        self.assertEqual(len(self.replies(seen)), 3)

    def test_two_centrals(self):
        seen = self.pair("--max-centrals 2", "--centrals 2 --prompt hello")
        self.assertEqual(sorted(reply["central"] for reply in self.replies(seen)), [0, 1])

    def test_a_central_that_disconnects_and_returns(self):
        seen = self.pair("--reply-bytes 5000", "--disconnect-after-chunks 3")
        self.assertEqual(self.only(seen, "broken")["by"], "disconnect")
        self.assertEqual(self.replies(seen)[0]["output_bytes"], 5000)

    def test_radio_loss(self):
        seen = self.pair("--reply-bytes 5000", "--radio-loss-after-chunks 3 --supervision 0.3")
        lost = [event for event in seen if event["event"] == "disconnected"][0]
        self.assertEqual(lost["reason"], 8)
        self.assertEqual(self.replies(seen)[0]["output_bytes"], 5000)

    def test_a_slow_radio(self):
        (reply,) = self.replies(self.pair("--reply-bytes 4000", "--slow-radio 5000"))
        self.assertGreater(reply["gap_ms_median"], 90)

    def test_a_phone_that_breaks_its_reply(self):
        seen = self.pair("--reply-bytes 5000 --disconnect-after-chunks 3", "", expected=1)
        self.assertIn("disconnected after 1536 bytes", self.only(seen, "result")["problem"])

    def test_a_phone_that_does_not_finish(self):
        for fault in ("--stall", "--endless 3000", "--interleave --reply-bytes 2000"):
            with self.subTest(fault):
                seen = self.pair(fault, "--timeout 3", expected=1)
                self.assertIn("not done", self.only(seen, "result")["problem"])

    def test_what_begins_no_reply_is_skipped(self):
        seen = self.pair("--garbage-first", "--prompt hello")
        self.assertTrue(self.replies(seen)[0]["echo"])

    def test_a_request_for_a_link_that_is_lost(self):
        done = subprocess.run([PYTHON, "-B", LAB / "tests/lost_request.py"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_request_for_a_link_that_goes_unheard_is_repeated(self):
        for fate in ("restarts", "lost"):
            with self.subTest(fate):
                command = [PYTHON, "-B", LAB / "tests/unheard_request.py", fate]
                done = subprocess.run(command, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertTrue(self.replies(events(done.stdout))[0]["echo"])

    def test_a_controller_that_is_reset_forgets_its_links(self):
        done = subprocess.run([PYTHON, "-B", LAB / "tests/reset.py"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_peer_whose_work_fails_ends_at_once_and_says_why(self):
        command = [PYTHON, "-B", LAB / "tests/failing_peer.py", "--timeout", "55"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=50)
        self.assertEqual(done.returncode, 1)
        self.assertIn("nobody is there", done.stderr)

    def test_options_are_checked(self):
        for program, option in (("central", "--mtu=22"), ("central", "--mtu=518"), ("phone", "--battery=101"), ("phone", "x")):
            done = subprocess.run([PYTHON, "-B", LAB / f"python/edgecoder_{program}.py", option], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, option)
