"""What radio-lab itself says: on stderr, so that stdout belongs to the command in the guest."""
import sys

QUIET, NORMAL, VERBOSE = range(3)
level = NORMAL


class LabError(Exception):
    """Something a person can repair; the message says how. `code` becomes the exit code."""

    def __init__(self, message: str, code: int = 1):
        super().__init__(message)
        self.code = code


def say(message: str) -> None:
    """Progress and reports; `-q` silences them."""
    if level >= NORMAL:
        print(f"radio-lab: {message}", file=sys.stderr, flush=True)


def detail(message: str) -> None:
    """What only `-v` shows."""
    if level >= VERBOSE:
        say(message)


def complain(message: str) -> None:
    """Errors: shown always."""
    print(f"radio-lab: {message}", file=sys.stderr, flush=True)
