"""What cases of the EdgeCoder peers have in common."""
import json
import unittest
from pathlib import Path

from runner import venv

LAB = Path(__file__).resolve().parent.parent
PYTHON = venv.location() / "bin/python"
HAS_PEERS = (venv.location() / "finished").exists()
NEEDS_PEERS = "the peers' Python environment is not there: see lab/radio-lab venv"


def events(output: str) -> list[dict]:
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


class Case(unittest.TestCase):
    def only(self, seen: list[dict], kind: str) -> dict:
        found = [event for event in seen if event["event"] == kind]
        self.assertEqual(len(found), 1, f"{kind} in {seen}")
        return found[0]

    def replies(self, seen: list[dict]) -> list[dict]:
        return [event for event in seen if event["event"] == "reply" and "central" in event]
