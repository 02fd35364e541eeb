"""Holds the usual programs of examples/ to ten lines of their own."""

import pathlib
import re
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "Sources"
USUAL = ("Beacon", "Bond", "Dimmer", "Echo", "HeartRate", "Lamp", "Nearby", "PulseReader")


def own_lines(text):
    """The lines between the adapter, which all of them open, and the recipe for signals, without comments and braces."""
    body = text.split("try await adapter.setPowered(true)", 1)[1].split("\n// Asked to end", 1)[0]
    lines = [line.strip() for line in body.splitlines()]
    return [line for line in lines if line and not line.startswith("//") and not re.fullmatch(r"[])}]+", line)]


class Examples(unittest.TestCase):
    def test_each_usual_program_has_ten_lines_of_its_own_at_most(self):
        for name in USUAL:
            with self.subTest(name):
                lines = own_lines((EXAMPLES / name / "main.swift").read_text())
                self.assertGreater(len(lines), 0)
                self.assertLessEqual(len(lines), 10, lines)


if __name__ == "__main__":
    unittest.main()
