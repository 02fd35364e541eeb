"""A wearable of the Omi family on Bumble, to test how a program records it; it can be made to misbehave.

    lab/radio-lab run --no-btvirt -- sh -c 'PYTHON lab/python/wearable_peer.py --sound FILE & the-program-under-test; kill $!; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ an adapter, puts a wearable on its air, and plays
FILE (16 bit, one channel, 16 kHz) as Opus, 20 ms a frame, once somebody is subscribed and has asked for the codec. It
needs libopus. At every end of a link it writes what libopus hears in all frames of that link, the lost ones too, to
FILE.1, FILE.2 …

With `--stored N` it has stored the first N seconds of that, a minute ago, in a ring as firmware from 3.0.20 on has it,
or with `--stored-as file` in one file as older firmware has, and what libopus hears of it is in FILE.stored.

It takes lines: `lose N` frames, `double` and `swap` what comes next, `pieces N` bytes of a frame in a notification,
`number N` for the next packet, `codec N` on the next link, `vanish`, which ends the link in the middle of a frame,
`mute`, which sends nothing and answers, `stall`, which does neither, and `unmute`.
It prints JSON lines:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"stored","ms":1795308240000}              when what it has stored began, in Unix milliseconds
    {"event":"advertising","address":"FA:0B:…"}
    {"event":"clock","seconds":1795308300}             the time it was told
    {"event":"ended","link":1,"frames":250,"heard":"FILE.1"}
    {"event":"freed","records":100}                    of what it has stored, as it was told
"""
import argparse
import asyncio
import ctypes
import struct
import time

from bumble import att
from bumble.core import UUID
from bumble.device import Connection, Device
from bumble.gatt import Characteristic, CharacteristicValue, Service

from edgecoder import tell
from peer import add_adapters, command_line, line, main, serve
from radiolab import Lab, advertise

NAME = "Omi"
FRAME = 320
FLAG, MAY = Characteristic.Properties, Characteristic.Permissions


def uuid(number: int) -> UUID:
    return UUID(f"19B100{number:02X}-E8F2-537E-4F6C-D104768A1214")


def storage(number: int) -> UUID:
    return UUID(f"3029578{number}-4301-EABD-2904-2849ADFEAE43")


class Opus:
    """libopus, called from elsewhere than the program under test."""

    RESTRICTED_LOWDELAY, SET_BITRATE, SET_VBR, SET_COMPLEXITY = 2051, 4002, 4006, 4010

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libopus.so.0")
        for name in ("opus_encoder_create", "opus_decoder_create"):
            getattr(self.library, name).restype = ctypes.c_void_p

    def encode(self, sound: bytes, bits: int, is_constant: bool = False) -> list[bytes]:
        made = ctypes.c_void_p(self.library.opus_encoder_create(16_000, 1, self.RESTRICTED_LOWDELAY, None))
        self.library.opus_encoder_ctl(made, self.SET_BITRATE, ctypes.c_int(bits))
        self.library.opus_encoder_ctl(made, self.SET_COMPLEXITY, ctypes.c_int(3))
        self.library.opus_encoder_ctl(made, self.SET_VBR, ctypes.c_int(0 if is_constant else 1))
        room = ctypes.create_string_buffer(1500)
        frames = []
        for start in range(0, len(sound) - FRAME * 2 + 1, FRAME * 2):
            length = self.library.opus_encode(made, sound[start : start + FRAME * 2], FRAME, room, len(room))
            frames.append(room.raw[:length])
        return frames

    def decode(self, frames: list[bytes]) -> bytes:
        made = ctypes.c_void_p(self.library.opus_decoder_create(16_000, 1, None))
        room = ctypes.create_string_buffer(FRAME * 2)
        heard = b""
        for frame in frames:
            self.library.opus_decode(made, frame, len(frame), room, FRAME, 0)
            heard += room.raw
        return heard


class Store:
    """What was stored while nobody listened: blocks of 440 bytes of frames, and the second in which each was full."""

    def __init__(self, frames: list[bytes]) -> None:
        self.blocks: list[tuple[int, bytes]] = []
        self.freed = 0
        self.start, packed = time.time() - 60, b""
        for index, frame in enumerate(frames):
            # A frame that would reach the last byte goes into the next block.
            if len(packed) + 1 + len(frame) >= 440:
                self.fill(self.start + index * 0.02, packed)
                packed = b""
            packed += bytes([len(frame)]) + frame
        if packed:
            self.fill(self.start + len(frames) * 0.02, packed)

    def fill(self, at: float, packed: bytes) -> None:
        self.blocks.append((int(at), packed.ljust(440, b"\0")))

    def free(self, blocks: int) -> None:
        self.freed = blocks
        tell("freed", records=blocks)


class File(Store):
    """One file of them, to be read to its end and deleted."""

    def status(self) -> bytes:
        return struct.pack("<II", (len(self.blocks) - self.freed) * 440, 0)

    def answers(self, command: bytes, _room: int) -> list[bytes]:
        if len(command) not in (2, 6) or command[1] != 1:
            return [b"\x06"]
        there = self.blocks[self.freed :]
        if command[0] == 0 and len(command) == 6:
            start = struct.unpack(">I", command[2:])[0] // 440
            if start >= len(there):
                return [b"\x03" if there else b"\x04"]
            return [b"\0", *(block for _, block in there[start:]), bytes([100])]
        if command[0] == 1:
            self.free(len(self.blocks))
            return [b"\0", bytes([200])]
        return [b"\0" if command[0] in (3, 50) else b"\x06"]


class Ring(Store):
    """Records of them that have numbers, and are freed up to one."""

    def __init__(self, frames: list[bytes]) -> None:
        super().__init__(frames)
        self.records = [struct.pack(">I", at) + block for at, block in self.blocks]

    def status(self) -> bytes:
        return struct.pack("<IIII", 0, len(self.records) - self.freed, 0, 1)

    def answers(self, command: bytes, room: int) -> list[bytes]:
        last = len(self.records)
        if command == b"\x10":
            return [struct.pack(">BQQIQH", 2, self.freed, last, 1 << 16, 0, 444)]
        if command[:1] == b"\x11" and len(command) == 13:
            start, count = struct.unpack(">QI", command[1:])
            if not self.freed <= start <= last:
                return [b"\x01\x0a"]
            end = min(start + count, last)
            data = b"".join(self.records[start:end])
            pieces = [b"\x03" + data[at : at + room] for at in range(0, len(data), room)]
            return [struct.pack(">BQI", 5, start, end - start), *pieces, struct.pack(">BBQ", 4, 0, end)]
        if command[:1] == b"\x12" and len(command) == 9:
            self.free(max(self.freed, min(struct.unpack(">Q", command[1:])[0], last)))
            return [b"\x01\x00"]
        return [b"\x01\x00" if command == b"\x03" else b"\x01\x06"]


class Wearable:
    def __init__(self, device: Device, opus: Opus, frames: list[bytes], options: argparse.Namespace):
        self.device, self.sound, self.opus, self.frames = device, options.sound, opus, frames
        self.mood = "unmute"
        self.number, self.next, self.links = options.number, 0, 0
        self.pieces, self.codec, self.lose, self.fault = 244, 21, 0, ""
        self.held: list[bytes] = []
        self.playing: asyncio.Task[None] | None = None
        self.asked = asyncio.Event()
        self.audio = Characteristic(uuid(1), FLAG.READ | FLAG.NOTIFY, MAY.READABLE, b"")
        self.audio.on(Characteristic.EVENT_SUBSCRIPTION, self.subscribed)
        codec = CharacteristicValue(read=self.tell_codec)
        clock = CharacteristicValue(write=self.told)
        device.add_service(Service(uuid(0), [self.audio, Characteristic(uuid(2), FLAG.READ, MAY.READABLE, codec)]))
        device.add_service(Service(uuid(0x30), [Characteristic(uuid(0x31), FLAG.WRITE, MAY.WRITEABLE, clock)]))
        device.add_service(Service("180f", [Characteristic("2a19", FLAG.READ, MAY.READABLE, bytes([87]))]))
        device.on("connection", lambda link: link.on("disconnection", self.ended))

    def offer(self, stored: Store, frames: list[bytes]) -> None:
        with open(f"{self.sound}.stored", "wb") as file:
            file.write(self.opus.decode(frames))

        def command(link: Connection, value: bytes) -> None:
            for answer in stored.answers(value, link.att_mtu - 4):
                self.notify(link, control, answer)

        written = CharacteristicValue(write=command)
        control = Characteristic(storage(1), FLAG.WRITE | FLAG.NOTIFY, MAY.WRITEABLE, written)
        status = CharacteristicValue(read=lambda _: stored.status())
        shown = Characteristic(storage(2), FLAG.READ, MAY.READABLE, status)
        self.device.add_service(Service(storage(0), [control, shown]))
        tell("stored", ms=int(stored.start * 1000))

    async def tell_codec(self, _: Connection) -> bytes:
        while self.mood == "stall":
            await asyncio.sleep(0.1)
        self.asked.set()
        return bytes([self.codec])

    def notify(self, link: Connection, characteristic: Characteristic, value: bytes) -> None:
        pdu = att.ATT_Handle_Value_Notification(attribute_handle=characteristic.handle, attribute_value=value)
        self.device.gatt_server.send_gatt_pdu(link, bytes(pdu))

    async def advertise(self) -> None:
        await advertise(self.device, NAME, uuid(0))

    def told(self, _: Connection, value: bytes) -> None:
        tell("clock", seconds=struct.unpack("<I", value)[0])

    def subscribed(self, link: Connection, on: bool, _indicate: bool) -> None:
        if self.playing:
            self.playing.cancel()
        self.asked.clear()
        self.playing = asyncio.ensure_future(self.play(link)) if on else None

    async def play(self, link: Connection) -> None:
        # BlueZ drops what comes before it has told its client of the subscription; who was told asks for the codec.
        await self.asked.wait()
        loop = asyncio.get_running_loop()
        start, first = loop.time(), self.next
        while True:
            await asyncio.sleep(max(start + (self.next - first) * 0.02 - loop.time(), 0))
            if self.mood != "unmute":
                start += 0.02
                continue
            self.send(link, self.frames[self.next % len(self.frames)])
            self.next += 1

    def send(self, link: Connection, frame: bytes) -> None:
        for index, offset in enumerate(range(0, len(frame), self.pieces)):
            value = struct.pack("<HB", self.number, index) + frame[offset : offset + self.pieces]
            self.number = (self.number + 1) % 65536
            if self.lose:
                continue
            fault, self.fault = self.fault, ""
            self.held.append(value)
            if fault == "double":
                self.held.append(value)
            if fault == "swap":
                continue
            for waiting in reversed(self.held):
                self.notify(link, self.audio, waiting)
            self.held = []
            if fault == "vanish":
                asyncio.ensure_future(link.disconnect())
                if self.playing:
                    self.playing.cancel()
                return
        self.lose = max(self.lose - 1, 0)

    def ended(self, _reason: int) -> None:
        if self.playing:
            self.playing.cancel()
        self.playing, self.held, self.mood = None, [], "unmute"
        sent, self.next = [self.frames[index % len(self.frames)] for index in range(self.next)], 0
        asyncio.ensure_future(self.report(sent))
        asyncio.ensure_future(self.advertise())

    async def report(self, sent: list[bytes]) -> None:
        self.links += 1
        link, heard = self.links, f"{self.sound}.{self.links}"
        with open(heard, "wb") as file:
            file.write(await asyncio.to_thread(self.opus.decode, sent))
        tell("ended", link=link, frames=len(sent), heard=heard)

    async def listen(self) -> None:
        while word := (await line()).split():
            if word[0] in ("double", "swap", "vanish"):
                self.fault = word[0]
            elif word[0] in ("mute", "stall", "unmute"):
                self.mood = word[0]
            elif word[0] in ("lose", "pieces", "number", "codec"):
                setattr(self, word[0], int(word[1]))
            tell("done", line=" ".join(word))


async def run(options: argparse.Namespace) -> int:
    async def begin(lab: Lab) -> list[asyncio.Task[None]]:
        # Before there are controllers, which must not wait for it.
        opus = Opus()
        with open(options.sound, "rb") as file:
            sound = file.read()
        # All of one length, so that every frame is one notification until `pieces` wants more: what is lost can then be
        # counted by the numbers, and a fault hits a whole frame.
        frames = opus.encode(sound, options.bits, is_constant=True)
        # A length of one byte stands before each: no more than the firmware's 32 kbit/s.
        stored = opus.encode(sound[: int(options.stored * 50) * FRAME * 2], 32_000)
        await add_adapters(lab, options)
        device = await lab.add_device(NAME)
        wearable = Wearable(device, opus, frames, options)
        if stored:
            wearable.offer((File if options.stored_as == "file" else Ring)(stored), stored)
        await wearable.advertise()
        tell("advertising", address=str(device.random_address).split("/")[0])
        return [asyncio.create_task(wearable.listen())]

    return await serve(options, begin)


if __name__ == "__main__":
    parser = command_line(__file__, __doc__)
    parser.add_argument("--sound", required=True, metavar="FILE", help="what it hears")
    parser.add_argument("--bits", type=int, default=32_000, metavar="N", help="bits a second of the encoder (32000)")
    parser.add_argument("--stored", type=float, default=0, metavar="N", help="seconds that it has stored (0)")
    parser.add_argument("--stored-as", choices=("ring", "file"), default="ring", help="how it has stored it (ring)")
    parser.add_argument("--number", type=int, default=0, metavar="N", help="the number of the first packet (0)")
    main(run, parser.parse_args())
