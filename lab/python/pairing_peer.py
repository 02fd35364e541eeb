"""A stranger who pairs: one side of LE Secure Connections on Bumble, to test a pairing agent that is on BlueZ.

    lab/radio-lab run --no-btvirt -- sh -c 'PYTHON lab/python/pairing_peer.py central compare & the-program-under-test; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ an adapter (named in its first line of output). As a
central it looks for SERVICE, connects, reads SECRET in vain, pairs, and reads and writes it; with several methods it
comes as often, as somebody else each time. As a peripheral it offers both and waits until somebody has read the secret.
It prints JSON lines:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"refused","what":"read","problem":"..."}  as a central, before the pairing, or after it: "read", "write"
    {"event":"number","number":123456}                 to be compared, or to be entered at the other side
    {"event":"paired","authenticated":true}
    {"event":"secret","text":"..."}                    what was read
    {"event":"wrote"}                                  as a central: something else, "mine"

Exit code 0 if all was done, 1 if not (the last line, "result", says why), 2 for wrong usage.
"""
import argparse
import asyncio

from bumble.att import ATT_Error
from bumble.core import UUID
from bumble.device import Connection, Device, Peer
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.gatt_client import CharacteristicProxy
from bumble.hci import OwnAddressType
from bumble.keys import MemoryKeyStore, PairingKeys
from bumble.pairing import PairingConfig, PairingDelegate

from edgecoder import tell
from peer import add_adapters, command_line, judge, main
from radiolab import Lab, advertise, find

SERVICE = UUID("ec0d0101-ec0d-ec0d-ec0d-ec0d0101ec0d")
SECRET = UUID("ec0d0102-ec0d-ec0d-ec0d-ec0d0102ec0d")

METHODS = {
    "compare": PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT,
    "display": PairingDelegate.DISPLAY_OUTPUT_ONLY,
    "just-works": PairingDelegate.NO_OUTPUT_NO_INPUT,
}


class Person(PairingDelegate):
    """Says every number aloud, and agrees."""

    async def compare_numbers(self, number: int, digits: int) -> bool:
        tell("number", number=number)
        return True

    async def display_number(self, number: int, digits: int) -> None:
        tell("number", number=number)


def prepare(device: Device, method: str) -> None:
    device.keystore = MemoryKeyStore()
    device.pairing_config_factory = lambda _: PairingConfig(
        sc=True, mitm=method != "just-works", bonding=True, delegate=Person(METHODS[method]),
        identity_address_type=PairingConfig.AddressType.RANDOM)  # fmt: skip


async def be_central(device: Device) -> None:
    connection = await device.connect(await find(device, SERVICE), own_address_type=OwnAddressType.RANDOM)
    connection.on("pairing", note_pairing)
    peer = Peer(connection)
    await peer.discover_service(SERVICE)
    await peer.discover_characteristics(service=peer.get_services_by_uuid(SERVICE)[0])
    secret = peer.get_characteristics_by_uuid(SECRET)[0]
    await use(peer, secret)
    await connection.pair()
    await use(peer, secret)
    await connection.disconnect()


async def use(peer: Peer, secret: CharacteristicProxy[bytes]) -> None:
    try:
        tell("secret", text=bytes(await peer.read_value(secret)).decode())
    except ATT_Error as error:
        tell("refused", what="read", problem=error.error_name)
    try:
        await peer.write_value(secret, b"mine", with_response=True)
        tell("wrote")
    except ATT_Error as error:
        tell("refused", what="write", problem=error.error_name)


async def be_peripheral(device: Device) -> None:
    was_read, ended = asyncio.Event(), asyncio.Event()

    def read(_: Connection) -> bytes:
        tell("secret", text="told")
        was_read.set()
        return b"told"

    def connected(connection: Connection) -> None:
        connection.on("pairing", note_pairing)
        connection.on("disconnection", lambda _: ended.set())

    flag, may = Characteristic.Properties, Characteristic.Permissions
    secret = Characteristic(
        SECRET, flag.READ, may.READABLE | may.READ_REQUIRES_ENCRYPTION, CharacteristicValue(read=read))  # fmt: skip
    device.add_service(Service(SERVICE, [secret]))
    device.on("connection", connected)
    await advertise(device, "stranger", SERVICE)
    await was_read.wait()
    await ended.wait()


def note_pairing(keys: PairingKeys) -> None:
    tell("paired", authenticated=bool(keys.ltk and keys.ltk.authenticated))


async def run(options: argparse.Namespace) -> int:
    async def work(lab: Lab) -> None:
        await add_adapters(lab, options)
        for method in options.methods:
            device = await lab.add_device(f"stranger-{method}")
            prepare(device, method)
            await (be_central(device) if options.role == "central" else be_peripheral(device))

    return await judge(options, work)


if __name__ == "__main__":
    line = command_line(__file__, __doc__)
    line.add_argument("role", choices=["central", "peripheral"])
    line.add_argument("methods", nargs="+", choices=sorted(METHODS), help="what it can do, and so how the two will pair")
    main(run, line.parse_args())
