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
from bumble.device import Connection  # noqa: E402
from bumble.gatt_server import Server  # noqa: E402
from edgecoder import tell  # noqa: E402
from peer import command_line, judge, main  # noqa: E402
from radiolab import Lab, advertise  # noqa: E402

SERVICE = UUID("ec0d0700-ec0d-ec0d-ec0d-ec0d0700ec0d")


class Silent(Server):
    def on_gatt_pdu(self, *_: object) -> None:
        tell("request")


async def work(lab: Lab) -> None:
    await lab.add_adapter()
    device = await lab.add_device("silent")
    connections: asyncio.Queue[Connection] = asyncio.Queue()
    device.on("connection", connections.put_nowait)
    device.gatt_server = Silent(device)
    await advertise(device, "silent", SERVICE)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reach())
        tasks.create_task(leave(connections))


async def leave(connections: asyncio.Queue[Connection]) -> None:
    connection = await connections.get()
    await asyncio.sleep(1)
    await connection.disconnect()


async def reach() -> None:
    """The adapter is a moment old, and refuses what is asked of it until it is powered."""
    service, found = str(SERVICE).lower(), None
    while not found:
        try:
            found = await BleakScanner.find_device_by_filter(lambda _, heard: service in heard.service_uuids, timeout=5)
        except BleakError:
            await asyncio.sleep(0.25)
    try:
        await BleakClient(found).connect()
    except BleakError as error:
        tell("ended", problem=str(error))


if __name__ == "__main__":
    main(lambda options: judge(options, work), command_line(__file__, __doc__).parse_args())
