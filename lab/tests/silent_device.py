"""A device that sends nothing over its connection and ends it while BlueZ waits for an answer; see dies() in runner/debian.py.

Gives BlueZ an adapter, has it connect to the device over bleak, and prints a JSON line when bluetoothd has taken the end
in. Runs inside the lab with the interpreter of `radio-lab venv`.
"""
import argparse
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from bleak import BleakClient, BleakScanner  # noqa: E402
from bleak.exc import BleakError  # noqa: E402
from bumble.core import UUID  # noqa: E402
from bumble.device import Connection, Device  # noqa: E402
from bumble.gatt_server import Server  # noqa: E402
from edgecoder import tell  # noqa: E402
from peer import command_line, judge, main  # noqa: E402
from radiolab import Lab, advertise  # noqa: E402

SERVICE = UUID("ec0d0700-ec0d-ec0d-ec0d-ec0d0700ec0d")


class Silent(Server):
    requests = 0

    def on_gatt_pdu(self, *_: object) -> None:
        self.requests += 1


async def work(lab: Lab) -> None:
    await lab.add_adapter()
    device = await lab.add_device("silent")
    connections: asyncio.Queue[Connection] = asyncio.Queue()
    device.on("connection", connections.put_nowait)
    server = device.gatt_server = Silent(device)
    left = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reach(left))
        tasks.create_task(leave(device, connections, left))
    tell("ended", requests=server.requests)


async def leave(device: Device, connections: asyncio.Queue[Connection], left: asyncio.Event) -> None:
    """End a connection that has lasted a second; BlueZ may have ended earlier ones."""
    while not left.is_set():
        await advertise(device, "silent", SERVICE)
        connection = await connections.get()
        ended = asyncio.Event()
        connection.on("disconnection", lambda _, ended=ended: ended.set())
        try:
            await asyncio.wait_for(ended.wait(), 1)
        except TimeoutError:
            await connection.disconnect()
            left.set()


async def reach(left: asyncio.Event) -> None:
    """Connect until the device has left: the adapter is a moment old, and refuses what is asked of it until it is powered;
    bleak also takes a link that comes up fast for one that is lost, and has a limit of its own."""
    service = str(SERVICE).lower()
    while not left.is_set():
        try:
            found = await BleakScanner.find_device_by_filter(lambda _, heard: service in heard.service_uuids, timeout=5)
            if found:
                await BleakClient(found).connect()
        except (BleakError, TimeoutError):
            await asyncio.sleep(0.25)


if __name__ == "__main__":
    main(lambda options: judge(options, work), command_line(__file__, __doc__).parse_args())
