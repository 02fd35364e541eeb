"""Strangers of every kind at once, on Bumble: none of them may read, write, subscribe or learn anything.

    lab/radio-lab run --no-btvirt -- sh -c '
      (sleep 60; echo ADDRESS; sleep 60; echo) | PYTHON lab/python/edgecoder_strangers.py --adapters 3 & the-programs; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ its adapters (named in its first lines of output) and
puts on their air, when the address of a phone is typed, until the next line:

- two phones that nobody has paired with, which advertise the service louder than anybody else and take all that comes
- a wearable that nobody has chosen, as loud
- two centrals that connect to that phone, and try every access, and the ways to pair that need no display

It prints JSON lines and ends when it is told to:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"attacking"}                                   all of them are there, and a central is connected
    {"event":"done","phone-advertised":2,"phone-connected":0,"phone-accessed":0,"wearable-advertised":1,
     "wearable-connected":0,"wearable-accessed":0,"central-connected":9,"central-tried":99,"central-let-in":0,
     "central-heard":0}
"""
import argparse
import asyncio
from collections import Counter
from collections.abc import Awaitable
from typing import Any

from bumble.core import UUID, BaseBumbleError
from bumble.device import Connection, Device, Peer
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address, OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig

import edgecoder
from edgecoder import REQUEST, RESPONSE, SERVICE, STATUS, tell
from peer import add_adapters, command_line, line, main
from radiolab import Lab, advertise
from wearable_peer import uuid

STEP_LIMIT = 20
PROMPT = edgecoder.encode({"id": "stranger", "prompt": "let me in"})
# Nearer than everybody else, who have -50.
LOUD = -20
FLAG, MAY = Characteristic.Properties, Characteristic.Permissions
# What a refused access raises, also when the link ends meanwhile.
REFUSALS = (BaseBumbleError, TimeoutError, asyncio.CancelledError, IndexError)

over, connected = asyncio.Event(), asyncio.Event()
done: Counter[str] = Counter()


def open_to_all(kind: str, number: UUID, value: bytes) -> Characteristic:
    """A characteristic that counts what is read from it, written to it and subscribed to."""

    def read(_: Connection) -> bytes:
        done[f"{kind}-accessed"] += 1
        return value

    def write(_: Connection, _value: bytes) -> None:
        done[f"{kind}-accessed"] += 1

    characteristic = Characteristic(
        number, FLAG.READ | FLAG.WRITE | FLAG.WRITE_WITHOUT_RESPONSE | FLAG.NOTIFY, MAY.READABLE | MAY.WRITEABLE,
        CharacteristicValue(read=read, write=write))  # fmt: skip
    characteristic.on(Characteristic.EVENT_SUBSCRIPTION, lambda *_: done.update({f"{kind}-accessed": 1}))
    return characteristic


async def pose(device: Device, kind: str, service: UUID, numbers: dict[UUID, bytes]) -> None:
    """Advertises a service, and takes all that comes."""
    device.add_service(Service(service, [open_to_all(kind, number, value) for number, value in numbers.items()]))

    def count(link: Connection) -> None:
        done[f"{kind}-connected"] += 1
        link.on("disconnection", lambda _: asyncio.ensure_future(advertise(device, device.name, service)))

    device.on("connection", count)
    await advertise(device, device.name, service)
    done[f"{kind}-advertised"] += 1


async def attempt(step: Awaitable[Any]) -> None:
    done["central-tried"] += 1
    try:
        await asyncio.wait_for(step, STEP_LIMIT)
    except REFUSALS:
        return
    done["central-let-in"] += 1


def pair_by(device: Device, secure_connections: bool, bonding: bool) -> None:
    device.pairing_config_factory = lambda _: PairingConfig(
        sc=secure_connections, mitm=False, bonding=bonding,
        identity_address_type=PairingConfig.AddressType.RANDOM)  # fmt: skip


async def intrude(device: Device, address: Address) -> None:
    """One link, and everything that can be tried on it."""

    def hear(_: bytes) -> None:
        done["central-heard"] += 1

    connection = await asyncio.wait_for(
        device.connect(address, own_address_type=OwnAddressType.RANDOM), STEP_LIMIT)
    done["central-connected"] += 1
    connected.set()
    try:
        peer = Peer(connection)
        await peer.request_mtu(517)
        await peer.discover_service(SERVICE)
        await peer.discover_characteristics(service=peer.get_services_by_uuid(SERVICE)[0])
        request, response, status = (peer.get_characteristics_by_uuid(each)[0] for each in (REQUEST, RESPONSE, STATUS))
        for each in (status, response):
            await attempt(peer.read_value(each))
            await attempt(peer.subscribe(each, hear))
        await attempt(peer.write_value(request, PROMPT, with_response=True))
        await attempt(peer.gatt_client.write_long_value(request.handle, PROMPT * 10))
        # Is never answered; the phone counts what it takes.
        await peer.write_value(request, PROMPT, with_response=False)
        for secure_connections in (True, False):
            pair_by(device, secure_connections, True)
            await attempt(connection.pair())
    finally:
        if connection in device.connections.values():
            await connection.disconnect()


async def be_central(device: Device, address: Address) -> None:
    device.keystore = MemoryKeyStore()
    while not over.is_set():
        try:
            await intrude(device, address)
        except REFUSALS:
            await asyncio.sleep(0.2)


async def run(options: argparse.Namespace) -> int:
    async with Lab(options) as lab:
        await add_adapters(lab, options)
        address = Address((await line()).strip(), Address.PUBLIC_DEVICE_ADDRESS)
        central = [
            asyncio.ensure_future(be_central(await lab.add_device(f"Central-{each}"), address)) for each in range(2)
        ]
        phone = {REQUEST: b"", RESPONSE: b"", STATUS: edgecoder.encode({"modelState": "ready"})}
        for each in range(2):
            await pose(await lab.add_device(f"EdgeCoder-{each}", rssi=LOUD), "phone", SERVICE, phone)
        wearable = await lab.add_device("Omi", rssi=LOUD)
        await pose(wearable, "wearable", uuid(0), {uuid(1): b"", uuid(2): bytes([21])})
        await connected.wait()
        tell("attacking")
        await line()
        over.set()
        for each in central:
            each.cancel()
        await asyncio.wait(central)
        kinds = ("phone-advertised", "phone-connected", "phone-accessed", "wearable-advertised", "wearable-connected")
        more = ("wearable-accessed", "central-connected", "central-tried", "central-let-in", "central-heard")
        tell("done", **{each: done[each] for each in kinds + more})
        await asyncio.Event().wait()
    return 0


if __name__ == "__main__":
    main(run, command_line(__file__, __doc__).parse_args())
