"""The Python yardstick, client: bleak.

client_bleak.py DEVICE_PATH ADDRESS COUNT: COUNT values of 20 bytes, each written when the last one came back.
Prints "ready", waits for a line, then prints the microseconds of each, one a line, and an empty line.
"""
import asyncio
import sys
import time

from bleak import BleakClient
from bleak.backends.device import BLEDevice

UUID = "ec0d000{0}-ec0d-ec0d-ec0d-ec0d000{0}ec0d"
WARM_UP = 20


async def main():
    path, address, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    arrived = asyncio.Queue()
    # The link is already there; bleak finds it so, and reads what bluetoothd knows of the services.
    async with BleakClient(BLEDevice(address, None, {"path": path, "props": {}})) as client:
        request = client.services.get_characteristic(UUID.format(2))
        response = client.services.get_characteristic(UUID.format(3))
        await client.start_notify(response, lambda _, value: arrived.put_nowait(value))

        async def trip(number):
            value = bytes([number % 256]) * 20
            await client.write_gatt_char(request, value, response=False)
            if bytes(await asyncio.wait_for(arrived.get(), 30)) != value:
                sys.exit("another value came back")

        for number in range(WARM_UP):
            await trip(number)
        print("ready", flush=True)
        sys.stdin.readline()
        took = []
        for number in range(count):
            begun = time.perf_counter()
            await trip(number)
            took.append(time.perf_counter() - begun)
        for seconds in took:
            print(f"{seconds * 1e6:.1f}")
        print(flush=True)
        sys.stdin.readline()


asyncio.run(main())
