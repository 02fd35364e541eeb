"""Centrals that mean harm: four on Bumble at once, to test that an open phone on BlueZ keeps answering others.

    lab/radio-lab run --no-btvirt -- sh -c '
      (sleep 60; echo) | PYTHON lab/python/edgecoder_attacker.py & the-phone-under-test --adapter hci0; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ its adapters (named in its first lines of output), waits
for a phone, and attacks it until a line is typed, each central in its own way: requests without end
(flood), requests that never end (oversized), long writes with offsets that fit nothing (offsets), and links that are left in
the middle (half-open). It prints JSON lines and ends when it is told to:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"attacking","how":"flood"}                      the link is there
    {"event":"done","flood":812,"oversized":903,"offsets":77,"half-open":6}    what each got rid of
"""
import argparse
import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from bumble.att import ATT_PDU, ATT_Execute_Write_Request, ATT_Prepare_Write_Request
from bumble.core import BaseBumbleError
from bumble.device import Connection, Device, Peer
from bumble.hci import Address, OwnAddressType

import edgecoder
from edgecoder import REQUEST, SERVICE, tell
from peer import add_adapters, command_line, line, main
from radiolab import Lab, find

STEP_LIMIT = 10
# For bluetoothd to have read an attacker's services while four of them keep it busy.
LEAVE_LIMIT = 30
# Between two writes: the others on this air, and this very program, need a moment too.
BREATH = 0.004
# From the first sight of the phone: time for a well-behaved central to be linked before.
DELAY = 4

# How an attack may end: the phone, or bluetoothd, may well refuse it or end the link.
ENDS = (BaseBumbleError, IndexError, ValueError, TimeoutError)

Attack = Callable[[Peer, int, Counter], Awaitable[None]]


async def flood(peer: Peer, request: int, done: Counter) -> None:
    while not over.is_set():
        done["flood"] += 1
        prompt = edgecoder.encode({"id": f"flood-{done['flood']}", "prompt": "3"})
        await peer.gatt_client.write_value(request, prompt, with_response=False)
        await asyncio.sleep(BREATH)


async def oversized(peer: Peer, request: int, done: Counter) -> None:
    await peer.gatt_client.write_value(request, b'{"id":"oversized","prompt":"', with_response=False)
    while not over.is_set():
        done["oversized"] += 1
        await peer.gatt_client.write_value(request, b"x" * 500, with_response=False)
        await asyncio.sleep(BREATH)


async def offsets(peer: Peer, request: int, done: Counter) -> None:
    client, chance = peer.gatt_client, random.Random(1)
    while not over.is_set():
        for _ in range(chance.randint(1, 6)):
            offset = chance.choice([0, 1, 17, 508, 511, 512, 513, 40000, 65535])
            part = b'{"id":"offsets","prompt":1}'[: chance.randint(0, 27)]
            await asyncio.wait_for(client.send_request(ATT_Prepare_Write_Request(request, offset, part)), STEP_LIMIT)
            done["offsets"] += 1
        await asyncio.wait_for(client.send_request(ATT_Execute_Write_Request(chance.choice([0, 1]))), STEP_LIMIT)
        await asyncio.sleep(BREATH)


async def half_open(peer: Peer, request: int, done: Counter) -> None:
    """Begins a request and a long write, ends neither, and goes."""
    done["half-open"] += 1
    await peer.gatt_client.write_value(request, b'{"id":"half","prompt":"', with_response=True)
    await peer.gatt_client.send_request(ATT_Prepare_Write_Request(request, 0, b"half"))
    await asyncio.sleep(0.5)


known: list[int] = []
# How often bluetoothd asked each of them for something.
asked: Counter[str] = Counter()
over = asyncio.Event()


async def handle_of_request(peer: Peer) -> int:
    """Asked for once: on a slow machine the discovery takes longer than the attack."""
    if not known:
        await peer.discover_service(SERVICE)
        await peer.discover_characteristics(service=peer.get_services_by_uuid(SERVICE)[0])
        known.append(peer.get_characteristics_by_uuid(REQUEST)[0].handle)
    return known[0]


async def attack(address: Address, device: Device, how: Attack, done: Counter) -> None:
    """Again and again, until it is over."""
    while not over.is_set():
        connection: Connection | None = None
        try:
            connection = await device.connect(address, own_address_type=OwnAddressType.RANDOM)
            peer = Peer(connection)
            await peer.request_mtu(517)
            request = await handle_of_request(peer)
            tell("attacking", how=how.__name__)
            await how(peer, request, done)
        except ENDS:
            await asyncio.sleep(0.1)
        finally:
            if connection and connection in device.connections.values():
                await until_heard(connection)
                await connection.disconnect()


def count_questions(device: Device) -> None:
    answer = device.gatt_server.on_gatt_pdu

    def count(bearer: Connection, pdu: ATT_PDU) -> None:
        asked[device.name] += 1
        answer(bearer, pdu)

    device.gatt_server.on_gatt_pdu = count


async def until_heard(connection: Connection) -> None:
    """Until bluetoothd has taken what was written, and asks nothing itself: bluetoothd 5.66 aborts when it comes to a
    write just as its link ends (`append_options` in its gatt-database.c names a device that it no longer finds). That is
    known; what is tested here is what the phone does."""
    name, quiet = connection.device.name, 0
    try:
        async with asyncio.timeout(LEAVE_LIMIT):
            # It takes one after the other: this answer comes after all that was written. A question of its own may
            # overtake the answer or follow it.
            while quiet < 2:
                before = asked[name]
                await Peer(connection).discover_service(SERVICE)
                quiet = quiet + 1 if asked[name] == before else 0
    except ENDS:
        pass


async def run(options: argparse.Namespace) -> int:
    async with Lab(options) as lab:
        await add_adapters(lab, options)
        done: Counter[str] = Counter()
        ways = (flood, oversized, offsets, half_open)
        devices = [await lab.add_device(way.__name__) for way in ways]
        for device in devices:
            count_questions(device)
        address = await find(devices[0], SERVICE)
        await asyncio.sleep(DELAY)
        attacks = [asyncio.ensure_future(attack(address, *each, done)) for each in zip(devices, ways)]
        await line()
        # `asyncio.wait_for` of Python 3.11 may swallow a cancellation.
        over.set()
        for each in attacks:
            each.cancel()
        await asyncio.wait(attacks)
        tell("done", **done)
        await asyncio.Event().wait()
    return 0


if __name__ == "__main__":
    main(run, command_line(__file__, __doc__).parse_args())
