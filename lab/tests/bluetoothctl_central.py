"""A user at bluetoothctl: `bluetoothctl_central.py ADDRESS UUID` connects to a device, pairs, and reads a characteristic
that is for paired centrals. It does not leave the pairing to the read: now and then (1 of 18 times with BlueZ 5.66 on
Linux 6.1) bluetoothd does not send the refused read again when the link is encrypted, and gives up after 30 s.

Prints one JSON line with the first sixteen bytes of the value. Runs inside the lab.
"""
import json
import os
import pty
import re
import select
import subprocess
import sys
import time

LIMIT = 120
ADDRESS, UUID = sys.argv[1:]

terminal, end = pty.openpty()
process = subprocess.Popen(["bluetoothctl"], stdin=end, stdout=end, stderr=end)
shown = ""


def wait(pattern: str) -> str:
    """The first match in what follows the last one."""
    global shown
    limit = time.monotonic() + LIMIT
    while not (found := re.search(pattern, shown)):
        if not select.select([terminal], [], [], max(limit - time.monotonic(), 0))[0]:
            sys.exit(f"bluetoothctl does not show {pattern}: {shown}")
        # Without colours, and without what readline writes to move in the line.
        shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\x01\x02]", "", os.read(terminal, 4096).decode(errors="replace"))
    shown = shown[found.end() :]
    return found.group()


def enter(line: str) -> None:
    os.write(terminal, (line + "\n").encode())


wait("Agent registered")
enter("scan on")
wait(f"Device {ADDRESS}")
enter(f"connect {ADDRESS}")
wait("ServicesResolved: yes")
enter(f"pair {ADDRESS}")
wait("Pairing successful")
enter("menu gatt")
wait("Menu gatt:")
enter(f"select-attribute {UUID}")
enter("read")
wait("Attempting to read")
value = wait(r"(?:\b[0-9a-f]{2} ){4,16}")
print(json.dumps({"event": "read", "hex": value.replace(" ", "")}))
enter("quit")
process.wait(30)
