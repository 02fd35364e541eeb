"""Python dbus-fast client:  client_dbusfast.py ADDRESS CASE COUNT"""

import asyncio
import resource
import sys
import time

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

NAME, PATH, INTERFACE = "org.edgeblue.Bench", "/org/edgeblue/bench", "org.edgeblue.Bench1"
WINDOW = 64
PAYLOAD = bytes(512)


async def call(bus, member, signature="", body=()):
    reply = await bus.call(
        Message(destination=NAME, path=PATH, interface=INTERFACE, member=member, signature=signature, body=list(body))
    )
    if reply.message_type is MessageType.ERROR:
        raise SystemExit(f"{member}: {reply.error_name}")
    return reply.body


async def concurrent(count, window, one):
    left = count

    async def worker():
        nonlocal left
        while left > 0:
            left -= 1
            await one()

    await asyncio.gather(*(worker() for _ in range(window)))


async def echo(bus):
    (back,) = await call(bus, "Echo", "ay", [PAYLOAD])
    if len(back) != len(PAYLOAD):
        raise SystemExit("echo: wrong length")


async def signals(bus, count):
    ticks = 0

    def on_message(message):
        nonlocal ticks
        if message.member == "Tick" and message.interface == INTERFACE:
            number, data = message.body
            if number != ticks or len(data) != 20:
                raise SystemExit("signals: out of order")
            ticks += 1

    bus.add_message_handler(on_message)
    await call(bus, "Burst", "u", [count])
    # The reply is the last thing on the wire, so every tick has been seen.
    bus.remove_message_handler(on_message)
    if ticks != count:
        raise SystemExit(f"signals: {ticks} of {count}")


async def run(bus, case, count):
    if case == "ping":
        await concurrent(count, 1, lambda: call(bus, "Ping"))
    elif case == "ping64":
        await concurrent(count, WINDOW, lambda: call(bus, "Ping"))
    elif case == "echo64":
        await concurrent(count, WINDOW, lambda: echo(bus))
    elif case == "managed":
        await concurrent(count, 1, lambda: call(bus, "Managed"))
    elif case == "signals":
        await signals(bus, count)
    else:
        raise SystemExit(f"{case}: no such case")


def cpu_seconds():
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


async def main(address, case, count):
    bus = await MessageBus(bus_address=address).connect()
    await bus.call(
        Message(
            destination="org.freedesktop.DBus",
            path="/org/freedesktop/DBus",
            interface="org.freedesktop.DBus",
            member="AddMatch",
            signature="s",
            body=[f"type='signal',sender='{NAME}',interface='{INTERFACE}',member='Tick'"],
        )
    )
    await run(bus, case, count // 10 + 1)
    wall, cpu = time.monotonic(), cpu_seconds()
    await run(bus, case, count)
    print(f"{count} {time.monotonic() - wall:.6f} {cpu_seconds() - cpu:.6f}")
    bus.disconnect()


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
