"""The Python yardstick, client: bleak.

client_bleak.py DEVICE_PATH ADDRESS COUNT: COUNT values of 20 bytes, each written when the last one came back.
client_bleak.py DEVICE_PATH ADDRESS COUNT SIZE: COUNT numbered values of SIZE bytes, as fast as they come.
Prints "ready", waits for a line, then prints the microseconds of each, one a line, and an empty line. For a stream it
prints the microseconds from the first value to the last, how many came, and 0: it drops none by itself.
"""
import asyncio
import sys
import time

from bleak import BleakClient
from bleak.backends.device import BLEDevice

UUID = "ec0d000{0}-ec0d-ec0d-ec0d-ec0d000{0}ec0d"
WARM_UP = 20
SILENCE = 3


async def main():
    path, address, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    size = int(sys.argv[4]) if len(sys.argv) > 4 else None
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

        async def stream():
            """Until the last value, or until nothing comes any more."""
            await client.write_gatt_char(request, f"stream {count} {size}".encode(), response=False)
            begun, last, came = None, None, 0
            while True:
                try:
                    value = await asyncio.wait_for(arrived.get(), SILENCE if came else 30)
                except TimeoutError:
                    break
                last, came = time.perf_counter(), came + 1
                begun = begun or last
                if int.from_bytes(value[:4], "little") + 1 == count:
                    break
            print(f"{(last - begun) * 1e6:.1f}\n{came}\n0\n", flush=True)

        if size is None:
            for number in range(WARM_UP):
                await trip(number)
        print("ready", flush=True)
        sys.stdin.readline()
        if size is not None:
            await stream()
            sys.stdin.readline()
            return
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
