"""A paired central on Bumble that comes back without encryption, and listens to what a closed phone on BlueZ tells others.

    lab/radio-lab run --no-btvirt -- sh -c 'PYTHON lab/python/edgecoder_listener.py --adapters 2 & the-phone-under-test --adapter hci0; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ its adapters (named in its first lines of output),
pairs with a phone by Just Works as soon as somebody lets it, and subscribes to everything. Then it uses its address
without its keys, as whoever has seen its advertisements can, until it is turned away, and once more with them. It sends
nothing there: a bond keeps its subscriptions. A line on standard input ends the last connection. It prints JSON lines:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"paired"}                          it is subscribed
    {"event":"back"}                            it has a link again
    {"event":"heard","notifications":0}         it was turned away
    {"event":"encrypted"}                       it has one more
    {"event":"heard","notifications":2}         a line was typed

Exit code 0 if it came that far, 1 if not (the last line, "result", says why), 2 for wrong usage.
"""
import argparse
import asyncio
from typing import Any

from bumble.core import BaseBumbleError
from bumble.device import Connection, Device, Peer
from bumble.hci import OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig

from edgecoder import RESPONSE, SERVICE, STATUS, tell
from peer import add_adapters, command_line, judge, line, main
from radiolab import Lab, find


async def connect(device: Device) -> Connection:
    return await device.connect(await find(device, SERVICE), own_address_type=OwnAddressType.RANDOM)


async def pair(device: Device) -> Connection:
    """A connection over which the device is paired; until a user agrees, the phone refuses and ends it."""
    while True:
        connection = await connect(device)
        try:
            await connection.pair()
            return connection
        except (BaseBumbleError, asyncio.CancelledError):
            await asyncio.sleep(1)
            if connection in device.connections.values():
                await connection.disconnect()


async def subscribe(connection: Connection) -> None:
    peer = Peer(connection)
    await peer.discover_service(SERVICE)
    await peer.discover_characteristics(service=peer.get_services_by_uuid(SERVICE)[0])
    for each in (RESPONSE, STATUS):
        await peer.subscribe(peer.get_characteristics_by_uuid(each)[0], lambda _: None)


def listen(connection: Connection) -> list[Any]:
    """What arrives, of whatever characteristic."""
    heard: list[Any] = []
    Peer(connection).gatt_client.on_att_handle_value_notification = heard.append  # type: ignore[method-assign]
    return heard


async def be_listener(device: Device) -> None:
    device.keystore = MemoryKeyStore()
    device.pairing_config_factory = lambda _: PairingConfig(
        sc=True, mitm=False, bonding=True, identity_address_type=PairingConfig.AddressType.RANDOM)  # fmt: skip
    connection = await pair(device)
    await subscribe(connection)
    tell("paired")
    await line()
    await connection.disconnect()

    connection = await connect(device)
    heard = listen(connection)
    ended = asyncio.Event()
    connection.on("disconnection", lambda _: ended.set())
    tell("back")
    await ended.wait()
    tell("heard", notifications=len(heard))

    connection = await connect(device)
    heard = listen(connection)
    await connection.encrypt()
    tell("encrypted")
    await line()
    tell("heard", notifications=len(heard))
    await line()  # the adapters go with this program, and the phone is still on them


async def run(options: argparse.Namespace) -> int:
    async def work(lab: Lab) -> None:
        await add_adapters(lab, options)
        await be_listener(await lab.add_device("listener"))

    return await judge(options, work)


if __name__ == "__main__":
    main(run, command_line(__file__, __doc__).parse_args())
