"""A client that uses every kind of attribute, on Bumble, to test a GATT server that is on BlueZ.

    lab/radio-lab run --no-btvirt -- sh -c 'PYTHON lab/python/gatt_stranger.py & the-server-under-test; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ an adapter, looks for SERVICE, connects with an MTU
of 23 and takes these steps, in the characteristics ec0d03NN-…; for each it prints what came of it:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"included","uuid":"180F"}
    {"event":"read","what":"static","size":512,"sum":4711}     02, by as many requests as it takes
    {"event":"read","what":"changing",…}                       03, whose value changes between requests
    {"event":"read","what":"description",…}                    the descriptor 2901 of 02
    {"event":"read","what":"note",…}                           the descriptor 13 of 02, and written before by pieces
    {"event":"refused","what":"offset","code":7}               a read of 02 beyond its end
    {"event":"refused","what":…,"code":…}                      each of the writes that must not work:
                                                               "gap" a long write of 04 with a hole before it,
                                                               "much" one of more than 512 bytes,
                                                               "piece" the first to 05, which wants to be asked
    {"event":"wrote","what":"cancelled"}                       a long write of 04 that was taken back
    {"event":"wrote","what":"long"} {"event":"wrote","what":"reliable"}    300 bytes to 04 and to 05
    {"event":"value","what":"indication","text":"…"}           06, which indicates
    {"event":"value","what":"both","text":"…"}                 07, which could notify too
    {"event":"changed"}                                        the server says that its services changed
    {"event":"read","what":"late",…}                           the first characteristic of the service ec0d0310-…

Exit code 0 when all steps were taken, 1 if not (the last line, "result", says why), 2 for wrong usage.
"""
import argparse
import asyncio
from typing import Any

from bumble import att
from bumble.core import UUID
from bumble.device import Device, Peer
from bumble.gatt_client import CharacteristicProxy
from bumble.hci import OwnAddressType

from edgecoder import tell
from peer import add_adapters, command_line, judge, main
from radiolab import Lab, find

MTU = 23
PIECE = MTU - 5


def uuid(number: int) -> UUID:
    return UUID(f"ec0d03{number:02x}-ec0d-ec0d-ec0d-ec0d03{number:02x}ec0d")


SERVICE = uuid(1)


class Stranger:
    def __init__(self, peer: Peer):
        self.peer, self.client = peer, peer.gatt_client
        self.values: asyncio.Queue[bytes] = asyncio.Queue()
        self.changed: asyncio.Queue[bytes] = asyncio.Queue()

    def characteristic(self, number: int) -> CharacteristicProxy[bytes]:
        return self.peer.get_characteristics_by_uuid(uuid(number))[0]

    async def ask(self, request: att.ATT_PDU) -> int:
        """The error a request brings; 0 for none."""
        response = await self.client.send_request(request)
        return response.error_code if response.op_code == att.Opcode.ATT_ERROR_RESPONSE else 0

    async def prepare(self, handle: int, offset: int, piece: bytes) -> int:
        return await self.ask(
            att.ATT_Prepare_Write_Request(attribute_handle=handle, value_offset=offset, part_attribute_value=piece))  # fmt: skip

    async def execute(self, flags: int) -> int:
        return await self.ask(att.ATT_Execute_Write_Request(flags=flags))

    async def read(self, what: str, attribute: Any) -> None:
        value = await self.client.read_value(attribute)
        tell("read", what=what, size=len(value), sum=sum(value))

    async def discover(self) -> None:
        await self.peer.discover_services()
        for service in self.peer.services:
            await self.peer.discover_characteristics(service=service)
        (service,) = self.peer.get_services_by_uuid(SERVICE)
        for included in await self.client.discover_included_services(service):
            tell("included", uuid=included.uuid.to_hex_str())
        services_changed = self.peer.get_characteristics_by_uuid(UUID("2a05"))[0]
        await self.client.subscribe(services_changed, self.changed.put_nowait)

    async def reads(self) -> None:
        static = self.characteristic(2)
        descriptors = {each.type: each for each in await self.client.discover_descriptors(static)}
        await self.read("static", static)
        await self.read("changing", self.characteristic(3))
        await self.read("description", descriptors[UUID("2901")])
        await self.client.write_long_value(descriptors[uuid(0x13)].handle, bytes(range(200)))
        await self.read("note", descriptors[uuid(0x13)])
        beyond = att.ATT_Read_Blob_Request(attribute_handle=static.handle, value_offset=600)
        tell("refused", what="offset", code=await self.ask(beyond))

    async def writes(self) -> None:
        long, reliable = self.characteristic(4).handle, self.characteristic(5).handle
        await self.prepare(long, 0, b"never")
        await self.execute(0)
        tell("wrote", what="cancelled")
        await self.prepare(long, 100, b"hole")
        tell("refused", what="gap", code=await self.execute(1))
        code, offset = 0, 0
        while not code and offset < 600:
            code, offset = await self.prepare(long, offset, bytes(PIECE)), offset + PIECE
        tell("refused", what="much", code=code)
        await self.execute(0)
        tell("refused", what="piece", code=await self.prepare(reliable, 0, b"not yet"))
        await self.client.write_long_value(long, bytes(range(150)) * 2)
        tell("wrote", what="long")
        await self.client.write_long_value(reliable, bytes(range(100)) * 3)
        tell("wrote", what="reliable")

    async def subscriptions(self) -> None:
        for what, number in (("indication", 6), ("both", 7)):
            await self.client.subscribe(self.characteristic(number), self.values.put_nowait, prefer_notify=False)
            tell("value", what=what, text=(await self.values.get()).decode())

    async def late_service(self) -> None:
        await self.changed.get()
        tell("changed")
        while not (late := self.peer.get_services_by_uuid(uuid(0x10))):
            await self.peer.discover_services()
        await self.peer.discover_characteristics(service=late[0])
        await self.read("late", late[0].characteristics[0])


async def visit(device: Device) -> None:
    address = await find(device, SERVICE)
    connection = await device.connect(address, own_address_type=OwnAddressType.RANDOM)
    stranger = Stranger(Peer(connection))
    await stranger.discover()
    await stranger.reads()
    await stranger.writes()
    await stranger.subscriptions()
    await stranger.late_service()
    await connection.disconnect()


async def run(options: argparse.Namespace) -> int:
    async def work(lab: Lab) -> None:
        await add_adapters(lab, options)
        await visit(await lab.add_device("stranger", MTU))

    return await judge(options, work)


if __name__ == "__main__":
    main(run, command_line(__file__, __doc__).parse_args())
