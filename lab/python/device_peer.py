"""Devices with lives of their own, on Bumble, to test how a program on BlueZ finds, reaches and keeps them.

    lab/radio-lab run --no-btvirt -- sh -c 'PYTHON lab/python/device_peer.py & the-program-under-test; kill $!; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ an adapter and puts three devices on its air, until
SIGTERM, SIGINT or --timeout (exit code 0):

    moody      a peripheral with SERVICE. On its first link it answers nothing for 10 s. On its second it has the
               characteristic 02, on all others 03 in its place; nothing announces the change.
    private    a peripheral with SERVICE and 04, behind a resolvable private address that is another one on each link.
               It pairs with whoever wants to (Just Works) and tells its identity then.
    visitor    a central: it connects to whoever advertises VISITED, reads its characteristic, and stays.

It prints JSON lines; "moody" and "private" are the addresses that never change:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00","moody":"FA:0B:…","private":"FA:0B:…"}
    {"event":"link","number":1}                        of moody's
    {"event":"visited","text":"..."}                   what the visitor read
"""
import argparse
import asyncio
import secrets

from bumble.att import ATT_PDU, Bearer
from bumble.core import BaseBumbleError, UUID
from bumble.device import Connection, Device, Peer
from bumble.gatt import Characteristic, Service
from bumble.gatt_server import Server
from bumble.hci import Address, HCI_LE_Set_Random_Address_Command, OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig
from bumble.profiles.gap import GenericAccessService

from edgecoder import tell
from peer import command_line, main, serve
from radiolab import Lab, advertise, find


def uuid(number: int) -> UUID:
    return UUID(f"ec0d03{number:02x}-ec0d-ec0d-ec0d-ec0d03{number:02x}ec0d")


SERVICE, VISITED = uuid(1), uuid(0x11)


def readable(number: int) -> Characteristic[bytes]:
    return Characteristic(
        uuid(number), Characteristic.Properties.READ, Characteristic.Permissions.READABLE, bytes([number]))  # fmt: skip


class Slow(Server):
    """Hears everything and answers nothing, until `patience` seconds have passed. It must not be for ever: Linux 6.1.192
    does not survive a link that ends while an ATT request is open."""

    patience = 10.0

    def __init__(self, device: Device):
        super().__init__(device)
        self.end = None

    def on_gatt_pdu(self, bearer: Bearer, att_pdu: ATT_PDU) -> None:
        loop = asyncio.get_running_loop()
        self.end = self.end or loop.time() + self.patience
        loop.call_at(self.end, self.answer, bearer, att_pdu)

    def answer(self, bearer: Bearer, att_pdu: ATT_PDU) -> None:
        """Not on the next link, which may have begun and has the handle of this one: an answer that nobody waits for ends
        it. From Linux 6.12 on a link ends before the patience does."""
        if bearer in self.device.connections.values():
            super().on_gatt_pdu(bearer, att_pdu)


def server(device: Device, *numbers: int) -> Server:
    """One without the Generic Attribute service, which would tell that something changed."""
    made = Server(device)
    made.add_service(GenericAccessService(device.name))
    made.add_service(Service(SERVICE, [readable(number) for number in numbers]))
    return made


class Moody:
    def __init__(self, device: Device):
        self.device = device
        self.links = 0
        self.servers = [Slow(device), server(device, 2), server(device, 3)]
        device.on("connection", self.connected)

    def connected(self, link: Connection) -> None:
        link.gatt_server = self.servers[min(self.links, len(self.servers) - 1)]
        self.links += 1
        tell("link", number=self.links)
        link.on("disconnection", lambda _: asyncio.ensure_future(self.advertise()))

    async def advertise(self) -> None:
        await advertise(self.device, "moody", SERVICE)


class Private:
    def __init__(self, device: Device):
        self.device = device
        device.irk = secrets.token_bytes(16)
        device.keystore = MemoryKeyStore()
        device.pairing_config_factory = lambda _: PairingConfig(
            sc=True, mitm=False, bonding=True, identity_address_type=PairingConfig.AddressType.RANDOM)  # fmt: skip
        device.gatt_server = server(device, 4)
        device.on("connection", self.connected)

    def connected(self, link: Connection) -> None:
        link.on("disconnection", lambda _: asyncio.ensure_future(self.advertise()))

    async def advertise(self) -> None:
        address = Address.generate_private_address(self.device.irk)
        await self.device.send_sync_command(HCI_LE_Set_Random_Address_Command(random_address=address))
        self.device.random_address = address
        await advertise(self.device, "private", SERVICE)


async def visit(device: Device) -> None:
    while True:
        link = await device.connect(await find(device, VISITED), own_address_type=OwnAddressType.RANDOM)
        ended = asyncio.Event()
        link.on("disconnection", lambda _: ended.set())
        try:
            tell("visited", text=(await read_visited(Peer(link))).decode())
        except (BaseBumbleError, TimeoutError, asyncio.CancelledError):
            if not ended.is_set():
                raise
        await ended.wait()


async def read_visited(peer: Peer) -> bytes:
    # For a moment after a restart of bluetoothd Linux advertises what the one before was told to: nobody serves it yet.
    while not await peer.discover_service(VISITED):
        await asyncio.sleep(0.5)
    (service,) = peer.get_services_by_uuid(VISITED)
    (characteristic, *_) = await peer.discover_characteristics(service=service)
    return bytes(await peer.read_value(characteristic))


async def run(options: argparse.Namespace) -> int:
    async def begin(lab: Lab) -> list[asyncio.Task[None]]:
        adapter = await lab.add_adapter()
        moody, private = Moody(await lab.add_device("moody")), Private(await lab.add_device("private"))
        tell("adapter", name=adapter.name, address=adapter.address,
             moody=plain(moody.device), private=plain(private.device))  # fmt: skip
        for each in (moody, private):
            await each.advertise()
        return [asyncio.create_task(visit(await lab.add_device("visitor")))]

    return await serve(options, begin)


def plain(device: Device) -> str:
    return str(device.static_address).split("/")[0]


if __name__ == "__main__":
    main(run, command_line(__file__, __doc__).parse_args())
