"""A device that behaves as it did in a recording, on Bumble, for any program on BlueZ.

    lab/radio-lab replay lamp.btsnoop -- the-program-under-test

The file is one of `edgeblue capture`, btmon or Android. The peer gives BlueZ an adapter, and advertises what the device
advertised, from its address, until SIGTERM, SIGINT or --timeout (exit code 0). It has the recorded attributes at their
handles; a read gets its recorded answers in order and then the last one again; a subscription or a write gets the
reaction to the next equal one in the recording, with the values at their times (--pace 0: at once). What the recording
does not show is refused: a readable attribute with "unlikely error", another value with "value not allowed". It pairs by
Just Works.

It prints JSON lines:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"advertising","address":"C0:00:00:00:00:42"}
    {"event":"unrecorded","opcode":18,"handle":18}            a request that the recording does not have
"""
import argparse
import asyncio
import struct
import sys
from pathlib import Path

from bumble.device import Connection, Device
from bumble.hci import OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig

from edgecoder import tell
from peer import add_adapters, command_line, main, serve
from radiolab import Lab
from recording import CHARACTERISTIC, CONFIGURATION, INCLUDE, PRIMARY, SECONDARY, NotARecording, Reaction, Recording, only_device, read

NO_SUCH_HANDLE, NO_READ, NO_WRITE, UNSUPPORTED, BAD_OFFSET, NOT_FOUND = 0x01, 0x02, 0x03, 0x06, 0x07, 0x0A
UNLIKELY, NO_ENCRYPTION, NOT_ALLOWED = 0x0E, 0x0F, 0x13
READ, WRITE, NOTIFY, INDICATE = 0x02, 0x0C, 0x10, 0x20


class Refusal(Exception):
    def __init__(self, code: int):
        self.code = code


class Server:
    """Answers the packets of one link as the recording has it."""

    def __init__(self, recording: Recording, pace: float):
        self.recording, self.pace = recording, pace
        self.given: dict[int, int] = {}
        self.last: dict[int, tuple[int, bytes]] = {}
        self.place = 0
        self.subscribed: set[int] = set()
        self.prepared: dict[int, bytes] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        # Every attribute: its handle, type and, of a declaration, its value.
        self.attributes: dict[int, tuple[bytes, bytes | None]] = {}
        self.ends: dict[int, int] = {}
        for handle, (end, uuid, primary) in recording.services.items():
            self.attributes[handle] = (word(PRIMARY if primary else SECONDARY), uuid)
            self.ends[handle] = end
        for handle, (properties, place, uuid) in recording.characteristics.items():
            self.attributes[handle] = (word(CHARACTERISTIC), struct.pack("<BH", properties, place) + uuid)
            self.attributes[place] = (uuid, None)
        for handle, value in recording.includes.items():
            self.attributes[handle] = (word(INCLUDE), value)
        for handle, uuid in recording.descriptors.items():
            self.attributes.setdefault(handle, (uuid, None))
        # A client need not look for the configuration where nothing else can be: after the value.
        for properties, place, _ in recording.characteristics.values():
            if properties & (NOTIFY | INDICATE) and place + 1 not in self.attributes:
                self.attributes[place + 1] = (word(CONFIGURATION), None)

    def forget(self) -> None:
        """A link ended."""
        for task in self.tasks:
            task.cancel()
        self.subscribed.clear()
        self.prepared.clear()

    def handle(self, link: Connection, pdu: bytes) -> bytes | None:
        code = pdu[0]
        handle = struct.unpack_from("<H", pdu, 1)[0] if len(pdu) >= 3 else 0
        try:
            answer = self.answer(link, code, handle, pdu)
        except Refusal as refusal:
            answer = struct.pack("<BBHB", 0x01, code, handle, refusal.code)
        # A command has no response, and a confirmation neither.
        return None if code & 0x40 or code == 0x1E else answer

    def answer(self, link: Connection, code: int, handle: int, pdu: bytes) -> bytes:
        if code == 0x02:
            return struct.pack("<BH", 0x03, self.recording.mtu)
        if code in (0x04, 0x06, 0x08, 0x10):
            return self.discover(link, code, pdu)
        if code in (0x0A, 0x0C):
            return self.read(link, code, handle, pdu)
        if code in (0x12, 0x52):
            self.write(link, handle, pdu[3:])
            return b"\x13"
        if code == 0x16:
            self.require(link, handle)
            self.prepared[handle] = self.prepared.get(handle, b"") + pdu[5:]
            return b"\x17" + pdu[1:]
        if code == 0x18:
            prepared, self.prepared = self.prepared, {}
            for place, value in prepared.items():
                if pdu[1:2] == b"\x01":
                    self.write(link, place, value)
            return b"\x19"
        if code == 0x1E:
            return b""
        raise Refusal(UNSUPPORTED)

    def discover(self, link: Connection, code: int, pdu: bytes) -> bytes:
        first, last = struct.unpack_from("<HH", pdu, 1)
        inside = [place for place in sorted(self.attributes) if first <= place <= last]
        room = link.att_mtu
        if code == 0x04:
            size = len(self.attributes[inside[0]][0]) if inside else 0
            same = prefix(inside, lambda place: len(self.attributes[place][0]) == size)
            entries = [word(place) + self.attributes[place][0] for place in same]
            head = bytes([0x05, 1 if size == 2 else 2])
        elif code == 0x06:
            kind, value = pdu[5:7], pdu[7:]
            entries = [word(place) + word(self.ends[place]) for place in inside if self.attributes[place] == (kind, value) and place in self.ends]
            head = b"\x07"
        else:
            kind = pdu[5:]
            same = [place for place in inside if self.attributes[place][0] == kind]
            if code == 0x10:
                all_entries = [word(place) + word(self.ends[place]) + (self.attributes[place][1] or b"") for place in same if place in self.ends]
            else:
                all_entries = [word(place) + (self.attributes[place][1] or self.value(link, place)) for place in same[:1] or []]
                all_entries += [word(place) + value for place in same[1:] if (value := self.attributes[place][1]) is not None]
            entries = prefix(all_entries, lambda entry: len(entry) == len(all_entries[0]))
            entries = [entry[: room - 2] for entry in entries]
            head = bytes([0x11 if code == 0x10 else 0x09, len(entries[0]) if entries else 0])
        if not entries:
            raise Refusal(NOT_FOUND)
        count = max(1, (room - len(head)) // len(entries[0]))
        return head + b"".join(entries[:count])

    def value(self, link: Connection, handle: int) -> bytes:
        """The next answer to a read."""
        self.require(link, handle)
        answers = self.recording.answers.get(handle)
        if not answers:
            tell("unrecorded", opcode=0x0A, handle=handle)
            raise Refusal(UNLIKELY if self.allows(handle, READ) else NO_READ)
        number = self.given.get(handle, 0)
        self.given[handle] = number + 1
        self.last[handle] = answers[min(number, len(answers) - 1)]
        error, value = self.last[handle]
        if error:
            raise Refusal(error)
        return value

    def read(self, link: Connection, code: int, handle: int, pdu: bytes) -> bytes:
        if handle not in self.attributes:
            raise Refusal(NO_SUCH_HANDLE)
        declared = self.attributes[handle][1]
        if self.attributes[handle][0] == word(CONFIGURATION) and handle not in self.recording.answers:
            owner = self.recording.owner(handle)
            declared = word(1 if owner and owner[1] in self.subscribed else 0)
        if code == 0x0A:
            value = self.value(link, handle) if declared is None else declared
            return b"\x0b" + value[: link.att_mtu - 1]
        offset = struct.unpack_from("<H", pdu, 3)[0]
        value = self.last.get(handle, (0, b""))[1] if declared is None else declared
        if offset > len(value):
            raise Refusal(BAD_OFFSET)
        return b"\x0d" + value[offset : offset + link.att_mtu - 1]

    def write(self, link: Connection, handle: int, value: bytes) -> None:
        self.require(link, handle)
        owner = self.recording.owner(handle)
        if self.attributes[handle][0] == word(CONFIGURATION) and owner and len(value) == 2:
            return self.subscribe(link, owner[1], value[0] & 3 != 0)
        reaction = self.next(("write", handle, value))
        if not reaction:
            tell("unrecorded", opcode=0x12, handle=handle)
            raise Refusal(NOT_ALLOWED if self.allows(handle, WRITE) else NO_WRITE)
        self.perform(link, reaction)

    def subscribe(self, link: Connection, handle: int, on: bool) -> None:
        if not on:
            self.subscribed.discard(handle)
            return
        reaction = self.next(("subscription", handle))
        if reaction and reaction.error:
            raise Refusal(reaction.error)
        self.subscribed.add(handle)
        if reaction:
            self.perform(link, reaction)

    def perform(self, link: Connection, reaction: Reaction) -> None:
        if reaction.error:
            raise Refusal(reaction.error)

        async def send() -> None:
            begin = asyncio.get_running_loop().time()
            for delay, handle, value, indicates in reaction.sent:
                await asyncio.sleep(max(begin + delay * self.pace - asyncio.get_running_loop().time(), 0))
                if handle in self.subscribed:
                    head = struct.pack("<BH", 0x1D if indicates else 0x1B, handle)
                    link.send_l2cap_pdu(4, head + value[: link.att_mtu - 3])

        task = asyncio.ensure_future(send())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def next(self, cause: tuple[object, ...]) -> Reaction | None:
        reactions = self.recording.reactions
        order = [*range(self.place, len(reactions)), *range(self.place)]
        for place in order:
            if reactions[place].cause == cause:
                self.place = place + 1
                return reactions[place]
        return None

    def require(self, link: Connection, handle: int) -> None:
        if handle not in self.attributes:
            raise Refusal(NO_SUCH_HANDLE)
        if handle in self.recording.protected and not link.is_encrypted:
            raise Refusal(NO_ENCRYPTION)

    def allows(self, handle: int, bits: int) -> bool:
        declared = [properties for properties, value, _ in self.recording.characteristics.values() if value == handle]
        return bool(declared[0] & bits) if declared else handle in self.recording.descriptors


def word(number: int) -> bytes:
    return struct.pack("<H", number)


def prefix(items: list, holds) -> list:  # type: ignore[no-untyped-def, type-arg]
    """The items before the first for which it does not hold."""
    count = next((place for place, item in enumerate(items) if not holds(item)), len(items))
    return items[:count]


class Peer:
    def __init__(self, device: Device, recording: Recording, pace: float):
        self.device, self.recording = device, recording
        self.server = Server(recording, pace)

    async def start(self) -> None:
        self.device.gatt_server.on_gatt_pdu = self.receive  # type: ignore[method-assign, assignment]
        self.device.on("connection", self.connected)
        # The identity is the address of the recording, and the keys last as long as this program.
        kind = PairingConfig.AddressType.RANDOM if self.recording.is_random else PairingConfig.AddressType.PUBLIC
        self.device.keystore = MemoryKeyStore()
        self.device.pairing_config_factory = lambda _: PairingConfig(mitm=False, identity_address_type=kind)
        await self.advertise()
        tell("advertising", address=self.recording.address)

    def connected(self, link: Connection) -> None:
        link.on("disconnection", self.advertise_again)

    def receive(self, link: Connection, pdu) -> None:  # type: ignore[no-untyped-def]
        data = bytes(pdu)
        answer = self.server.handle(link, data)
        if data[0] == 0x02 and answer:
            link.att_mtu = max(23, min(struct.unpack_from("<H", data, 1)[0], self.recording.mtu))
        if answer:
            link.send_l2cap_pdu(4, answer)

    async def advertise(self) -> None:
        await self.device.start_advertising(
            advertising_data=self.recording.advertising, scan_response_data=self.recording.scan_response,
            own_address_type=OwnAddressType.RANDOM if self.recording.is_random else OwnAddressType.PUBLIC,
            advertising_interval_min=100, advertising_interval_max=100)  # fmt: skip

    def advertise_again(self, _reason: int) -> None:
        self.server.forget()
        asyncio.ensure_future(self.advertise())


async def run(options: argparse.Namespace) -> int:
    try:
        recording = read(options.file, options.device or only_device(options.file))
    except (NotARecording, OSError) as error:
        print(f"replay_peer.py: {error}", file=sys.stderr)
        return 2

    async def begin(lab: Lab) -> None:
        await add_adapters(lab, options)
        kind = {"random": recording.address} if recording.is_random else {"public": recording.address}
        device = await lab.add_device("replay", **kind)  # type: ignore[arg-type]
        await Peer(device, recording, options.pace).start()

    return await serve(options, begin)


if __name__ == "__main__":
    parser = command_line(__file__, __doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="the recording")
    parser.add_argument("--device", metavar="ADDRESS", help="the device to replay (default: the only one that was connected)")
    parser.add_argument("--pace", type=float, default=1.0, metavar="FACTOR", help="the factor for its times; 0: all at once (default 1)")
    main(run, parser.parse_args())
