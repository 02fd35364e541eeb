"""What both EdgeCoder peers share: the service, the message collector, reproducible texts, JSON lines on stdout."""
import argparse
import json
import logging
import os
import time
from typing import Any, Callable

from bumble.core import UUID

SERVICE = UUID("ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d")
REQUEST = UUID("ec0d0002-ec0d-ec0d-ec0d-ec0d0002ec0d")
RESPONSE = UUID("ec0d0003-ec0d-ec0d-ec0d-ec0d0003ec0d")
STATUS = UUID("ec0d0004-ec0d-ec0d-ec0d-ec0d0004ec0d")

MAX_CHUNK = 512
PACE_SECONDS = 0.010

# Bumble warns about what our faults provoke; BUMBLE_LOGLEVEL=INFO or DEBUG shows all it has to say.
logging.basicConfig(level=os.environ.get("BUMBLE_LOGLEVEL", "CRITICAL"))

BEGUN = time.monotonic()


class Collector:
    """Joins pieces until they are one JSON object. There is no framing: the object's end is the message's end."""

    def __init__(self) -> None:
        self._pieces = bytearray()

    def __len__(self) -> int:
        return len(self._pieces)

    def add(self, piece: bytes) -> dict[str, Any] | None:
        """The object that `piece` completes, if it does. A piece that begins none is skipped: who subscribes while another
        central is answered hears the rest of that reply (BlueZ before 5.69)."""
        if not self._pieces and not piece.startswith(b"{"):
            return None
        self._pieces += piece
        if not piece.rstrip().endswith(b"}"):  # spares parsing the whole of a long message at every piece
            return None
        try:
            message = json.loads(self._pieces)
        except ValueError:
            return None
        self._pieces.clear()
        return message if isinstance(message, dict) else None

    def clear(self) -> None:
        self._pieces.clear()


def reproducible_text(length: int) -> str:
    """ASCII in which every eight bytes say where they belong, so that lost or swapped pieces show."""
    blocks = "".join(f"{block:07d} " for block in range(length // 8 + 1))
    return blocks[:length]


def encode(message: dict[str, Any]) -> bytes:
    """Compact UTF-8, the way a phone sends it: text beyond ASCII as it is."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def tell(event: str, **details: Any) -> None:
    """One JSON line; `t` is seconds since the program began."""
    print(json.dumps({"event": event, "t": round(time.monotonic() - BEGUN, 3), **details}), flush=True)


def whole_number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def add_radio_options(parser: argparse.ArgumentParser) -> None:
    """Options of every peer: its adapters for BlueZ, its air, its limit."""
    add = parser.add_argument
    add("--adapters", type=whole_number(0, 8), default=1, metavar="N", help="adapters to give to BlueZ (default 1)")
    add("--slow-radio", type=whole_number(100, 10**9), metavar="BYTES/S", help="throughput of the air, each way")
    add("--latency", type=seconds, default=0.0, metavar="S", help="latency of the air, one way")
    add("--supervision", type=seconds, default=1.0, metavar="S", help="silence before a lost link ends (default 1)")
    add("--timeout", type=seconds, default=120.0, metavar="S", help="limit of the whole program (default 120)")
