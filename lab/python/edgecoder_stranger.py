"""A stranger and a guest: two centrals on Bumble that a closed phone on BlueZ must keep out.

    lab/radio-lab run --no-btvirt -- sh -c 'PYTHON lab/python/edgecoder_stranger.py & the-phone-under-test --adapter hci0; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ its adapters (named in its first lines of output) and
looks for a phone. First comes the stranger, who tries every access and every way to pair by Just Works. Then comes the
guest, who tries to pair until a person opens a window, but is not on the phone's list: it does what a central does until
it is turned away, and does it again over a second link, encrypted with its key. It prints JSON lines and ends when it is
told to:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"tried","what":"read status","refused":"INSUFFICIENT_ENCRYPTION"}    refused is null where it was let in
    {"event":"left"}                                    the stranger has gone
    {"event":"paired"}                                  the guest has paired, and was turned away
    {"event":"back"}                                    it has a link again, and it is encrypted
    {"event":"heard","notifications":0,"seconds":2.1}   it was turned away again
"""
import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bumble.core import BaseBumbleError
from bumble.device import Connection, Device, Peer
from bumble.gatt_client import CharacteristicProxy
from bumble.hci import OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig

import edgecoder
from edgecoder import REQUEST, RESPONSE, SERVICE, STATUS, tell
from peer import add_adapters, command_line, main
from radiolab import Lab, find

STEP_LIMIT = 20
PROMPT = edgecoder.encode({"id": "stranger", "prompt": "let me in"})


async def connect(device: Device) -> Connection:
    return await device.connect(await find(device, SERVICE), own_address_type=OwnAddressType.RANDOM)


async def discover(connection: Connection) -> tuple[Peer, list[CharacteristicProxy]]:
    peer = Peer(connection)
    await peer.request_mtu(517)
    await peer.discover_service(SERVICE)
    await peer.discover_characteristics(service=peer.get_services_by_uuid(SERVICE)[0])
    return peer, [peer.get_characteristics_by_uuid(each)[0] for each in (REQUEST, RESPONSE, STATUS)]


async def attempt(what: str, step: Awaitable[Any]) -> bool:
    """Whether it was let in."""
    try:
        await asyncio.wait_for(step, STEP_LIMIT)
    except (BaseBumbleError, TimeoutError, asyncio.CancelledError) as error:
        tell("tried", what=what, refused=getattr(error, "error_name", "") or type(error).__name__)
        return False
    tell("tried", what=what, refused=None)
    return True


def pair_by(device: Device, secure_connections: bool, bonding: bool) -> None:
    device.pairing_config_factory = lambda _: PairingConfig(
        sc=secure_connections, mitm=False, bonding=bonding,
        identity_address_type=PairingConfig.AddressType.RANDOM)  # fmt: skip


async def be_stranger(device: Device) -> None:
    connection = await connect(device)
    peer, (request, response, status) = await discover(connection)
    def listen(_: bytes) -> None:
        tell("overheard")

    await attempt("read status", peer.read_value(status))
    await attempt("read response", peer.read_value(response))
    await attempt("write", peer.write_value(request, PROMPT, with_response=True))
    await attempt("long write", peer.gatt_client.write_long_value(request.handle, PROMPT * 10))
    await peer.write_value(request, PROMPT, with_response=False)  # is never answered, let in or not
    await attempt("subscribe to response", peer.subscribe(response, listen))
    await attempt("subscribe to status", peer.subscribe(status, listen))
    for secure_connections in (True, False):
        for bonding in (True, False):
            pair_by(device, secure_connections, bonding)
            await attempt(f"pair, {secure_connections=}, {bonding=}", connection.pair())
    await connection.disconnect()
    tell("left")


async def be_guest(device: Device) -> None:
    device.keystore = MemoryKeyStore()
    pair_by(device, True, True)
    connection = await connect(device)
    while not await attempt("pair", connection.pair()):
        await asyncio.sleep(1)
    heard: list[bytes] = []
    first = asyncio.create_task(use(connection, heard.append))
    await gone(connection)
    tell("paired")

    connection = await connect(device)
    await connection.encrypt()
    tell("back")
    begun = time.monotonic()
    second = asyncio.create_task(use(connection, heard.append))
    await gone(connection)
    tell("heard", notifications=len(heard), seconds=round(time.monotonic() - begun, 1))
    # What they still attempt is in vain, and each attempt takes its whole limit to find that out.
    first.cancel(), second.cancel()


async def use(connection: Connection, listen: Callable[[bytes], None]) -> None:
    """Everything a central does; the link may end at any moment of it."""
    try:
        peer, (request, response, status) = await asyncio.wait_for(discover(connection), STEP_LIMIT)
    except (BaseBumbleError, IndexError, TimeoutError, asyncio.CancelledError):
        return
    await attempt("subscribe to response", peer.subscribe(response, listen))
    await attempt("subscribe to status", peer.subscribe(status, listen))
    await attempt("read status", peer.read_value(status))
    await attempt("write", peer.write_value(request, PROMPT, with_response=True))


async def gone(connection: Connection) -> None:
    ended = asyncio.Event()
    connection.on("disconnection", lambda _: ended.set())
    if connection in connection.device.connections.values():
        await ended.wait()


async def run(options: argparse.Namespace) -> int:
    async with Lab(options) as lab:
        await add_adapters(lab, options)
        await asyncio.wait_for(be_stranger(await lab.add_device("stranger")), options.timeout)
        await asyncio.wait_for(be_guest(await lab.add_device("guest")), options.timeout)
        await asyncio.Event().wait()
    return 0


if __name__ == "__main__":
    main(run, command_line(__file__, __doc__).parse_args())
