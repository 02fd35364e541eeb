"""Centrals that pair with a phone on BlueZ that wants a passkey or a comparison, each in the way it can.

    lab/radio-lab run --no-btvirt -- sh -c 'PYTHON lab/python/edgecoder_pairer.py just-works display & ...; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ an adapter (named in its first line of output). For
each METHOD (`legacy` shows a passkey, and knows no LE Secure Connections) a central with a key of its own looks for a phone, connects, waits for a line on standard input, pairs, reads
the status and asks; in the end the program waits for one more line:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"connected","method":"display","address":"..."}
    {"event":"number","number":123456}       what it shows
    {"event":"asked"}                        what it is to type comes by another line
    {"event":"paired","method":"display"}
    {"event":"served","method":"display","output":"hello"}     or "refused" with the problem

Exit code 0 if all paired, 1 if not (the last line, "result", says why), 2 for wrong usage.
"""
import argparse
import asyncio

from bumble.core import BaseBumbleError
from bumble.device import Connection, Device, Peer
from bumble.hci import OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate

import edgecoder
from edgecoder import REQUEST, RESPONSE, SERVICE, STATUS, Collector, tell
from peer import Failure, add_adapters, command_line, judge, line, main
from radiolab import Lab, find

METHODS = {
    "legacy": PairingDelegate.DISPLAY_OUTPUT_ONLY,
    "just-works": PairingDelegate.NO_OUTPUT_NO_INPUT,
    "display": PairingDelegate.DISPLAY_OUTPUT_ONLY,
    "keyboard": PairingDelegate.KEYBOARD_INPUT_ONLY,
    "compare": PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT,
}
STEP_LIMIT = 30


class Person(PairingDelegate):
    """Says every number aloud, agrees, and types what it is told."""

    async def compare_numbers(self, number: int, digits: int) -> bool:
        tell("number", number=number)
        return True

    async def display_number(self, number: int, digits: int) -> None:
        tell("number", number=number)

    async def get_number(self) -> int:
        tell("asked")
        return int(await line())


async def be_central(device: Device, method: str) -> None:
    device.keystore = MemoryKeyStore()
    device.pairing_config_factory = lambda _: PairingConfig(
        sc=method != "legacy", mitm=method != "just-works", bonding=True, delegate=Person(METHODS[method]),
        identity_address_type=PairingConfig.AddressType.RANDOM)  # fmt: skip
    connection = await device.connect(await find(device, SERVICE), own_address_type=OwnAddressType.RANDOM)
    tell("connected", method=method, address=str(device.random_address).removesuffix("/R"))
    await line()
    try:
        await asyncio.wait_for(connection.pair(), STEP_LIMIT)
    except (BaseBumbleError, TimeoutError, asyncio.CancelledError) as error:
        raise Failure(f"not paired by {method}: {type(error).__name__}: {error}") from error
    tell("paired", method=method)
    try:
        output = await asyncio.wait_for(use(connection), STEP_LIMIT)
    except (BaseBumbleError, TimeoutError) as error:
        tell("refused", method=method, problem=getattr(error, "error_name", "") or type(error).__name__)
    else:
        tell("served", method=method, output=output)
    await connection.disconnect()


async def use(connection: Connection) -> str:
    """What a phone that is asked for "hello" answers."""
    peer = Peer(connection)
    await peer.request_mtu(517)
    await peer.discover_service(SERVICE)
    await peer.discover_characteristics(service=peer.get_services_by_uuid(SERVICE)[0])
    request, response, status = (peer.get_characteristics_by_uuid(each)[0] for each in (REQUEST, RESPONSE, STATUS))
    await peer.read_value(status)
    replies: asyncio.Queue[str] = asyncio.Queue()
    collector = Collector()

    def hear(piece: bytes) -> None:
        if reply := collector.add(bytes(piece)):
            replies.put_nowait(str(reply.get("output")))

    await peer.subscribe(response, hear)
    await peer.write_value(request, edgecoder.encode({"id": "1", "prompt": "hello"}), with_response=True)
    return await replies.get()


async def run(options: argparse.Namespace) -> int:
    async def work(lab: Lab) -> None:
        await add_adapters(lab, options)
        for method in options.methods:
            await be_central(await lab.add_device(method), method)
        await line()  # the adapter goes with this program, and the phone is still on it

    return await judge(options, work)


if __name__ == "__main__":
    parser = command_line(__file__, __doc__)
    parser.add_argument("methods", nargs="+", choices=sorted(METHODS), help="how each central pairs")
    main(run, parser.parse_args())
