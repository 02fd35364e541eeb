"""A phone that answers: an EdgeCoder peripheral on Bumble, to test a central that is on BlueZ.

    lab/radio-lab run --no-btvirt -- sh -c '
      PYTHON lab/python/edgecoder_phone.py --reply-bytes 16384 & the-central-under-test --adapter hci0; kill $!; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ an adapter (named in its first line of output),
advertises the service and answers requests one after another until SIGTERM, SIGINT or --timeout (exit code 0).
It prints JSON lines:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"advertising","phone":0,"name":"EdgeCoder-lab-0","address":"FA:0B:00:7B:0C:01"}
    {"event":"connected","phone":0} {"event":"subscribed","phone":0,"to":"response"} {"event":"disconnected","phone":0,"reason":19}
    {"event":"request","phone":0,"id":"...","prompt_bytes":5,"sha256":"...","max_tokens":512,"writes":1,"largest_write":47}
    {"event":"reply","phone":0,"id":"...","output_bytes":16384,"sha256":"...","message_bytes":16450,"chunks":33,"complete":true}

By default a reply repeats its prompt; the other contents and the faults are options. Faults that break a reply break the
first one only, so that a central can show that it recovers; --stall and --endless stay.
"""
import argparse
import asyncio
import hashlib
import sys
import time
from typing import Any

from bumble import att
from bumble.device import Connection, Device
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address, HCI_LE_Set_Random_Address_Command

import edgecoder
from edgecoder import MAX_CHUNK, PACE_SECONDS, REQUEST, RESPONSE, SERVICE, STATUS, Collector, tell
from peer import add_adapters, command_line, line, main, serve
from radiolab import Lab, advertise

EMOJI = "😀"  # four bytes in UTF-8
GARBAGE = b"\x00\xff}}}garbage{{{"


class Phone:
    def __init__(self, index: int, device: Device, options: argparse.Namespace):
        self.index = index
        self.device = device
        self.options = options
        self.name = f"{options.name}-{index}"
        self.requests: asyncio.Queue[tuple[Connection, dict[str, Any]]] = asyncio.Queue()
        self.collectors: dict[Connection, tuple[Collector, list[int]]] = {}
        self.last_reply = b""
        self.rotating = False
        self.whole = not (options.garbage_first or options.interleave or options.disconnect_after_chunks)
        flag, may = Characteristic.Properties, Characteristic.Permissions
        self.request = Characteristic(
            REQUEST, flag.WRITE | flag.WRITE_WITHOUT_RESPONSE, may.WRITEABLE, CharacteristicValue(write=self.on_write))  # fmt: skip
        self.response = Characteristic(
            RESPONSE, flag.NOTIFY | flag.READ, may.READABLE, CharacteristicValue(read=lambda _: self.last_reply))  # fmt: skip
        self.status = Characteristic(
            STATUS, flag.NOTIFY | flag.READ, may.READABLE, CharacteristicValue(read=lambda _: self.status_message()))  # fmt: skip

    async def start(self) -> None:
        self.device.add_service(Service(SERVICE, [self.request, self.response, self.status]))
        self.device.on("connection", self.on_connection)
        for characteristic, name in ((self.response, "response"), (self.status, "status")):
            characteristic.on("subscription", lambda bearer, on, _, name=name: self.on_subscription(bearer, on, name))
        if self.options.rotate:
            await self.take_new_address()
        await advertise(self.device, self.name, SERVICE)
        self.tell_address()

    def tell_address(self) -> None:
        tell("advertising", phone=self.index, name=self.name, address=str(self.device.random_address))

    async def take_new_address(self) -> None:
        address = Address.generate_private_address(self.device.irk)
        await self.device.send_sync_command(HCI_LE_Set_Random_Address_Command(random_address=address))
        self.device.random_address = address

    async def rotate(self) -> None:
        """At each line, the links end, and the next advertisement has another private address, as that of a phone has that
        was out of range for a quarter of an hour."""
        while await line():
            self.rotating = True
            for connection in list(self.device.connections.values()):
                await connection.disconnect()
            await self.device.stop_advertising()
            await self.take_new_address()
            self.rotating = False
            await advertise(self.device, self.name, SERVICE)
            self.tell_address()

    def on_connection(self, connection: Connection) -> None:
        tell("connected", phone=self.index)
        self.collectors[connection] = (Collector(), [])
        connection.on("disconnection", lambda reason: self.on_disconnection(connection, reason))
        if len(self.device.connections) < self.options.max_centrals:
            asyncio.ensure_future(advertise(self.device, self.name, SERVICE))

    def on_disconnection(self, connection: Connection, reason: int) -> None:
        tell("disconnected", phone=self.index, reason=reason)
        self.collectors.pop(connection, None)
        if self.rotating:
            return
        asyncio.ensure_future(advertise(self.device, self.name, SERVICE))

    def on_subscription(self, connection: Connection, on: bool, name: str) -> None:
        tell("subscribed" if on else "unsubscribed", phone=self.index, to=name)
        # A status cannot be cut: what does not fit is left to a read.
        if on and name == "status" and len(self.status_message()) <= connection.att_mtu - 3:
            asyncio.ensure_future(self.device.notify_subscriber(connection, self.status, self.status_message()))

    def status_message(self) -> bytes:
        status: dict[str, Any] = {"modelState": self.options.model_state}
        if self.options.battery is not None:
            status["batteryPct"] = self.options.battery
        return edgecoder.encode(status)

    def on_write(self, connection: Connection, value: bytes) -> None:
        collector, sizes = self.collectors[connection]
        sizes.append(len(value))
        request = collector.add(bytes(value))
        if request is None:
            return
        prompt = str(request.get("prompt")).encode()
        tell(
            "request", phone=self.index, id=request.get("id"), prompt_bytes=len(prompt),
            sha256=hashlib.sha256(prompt).hexdigest(), max_tokens=request.get("maxTokens"), writes=len(sizes),
            largest_write=max(sizes))  # fmt: skip
        sizes.clear()
        self.requests.put_nowait((connection, request))

    async def serve(self) -> None:
        while True:
            connection, request = await self.requests.get()
            if self.options.stall:
                tell("stalled", phone=self.index, id=request.get("id"))
                continue
            try:
                await self.answer(connection, request)
            except (ConnectionAbortedError, att.ATT_Error) as error:
                tell("reply-failed", phone=self.index, id=request.get("id"), problem=str(error))

    async def answer(self, connection: Connection, request: dict[str, Any]) -> None:
        begun = time.monotonic()
        await asyncio.sleep(self.options.think)
        size = min(self.options.chunk or MAX_CHUNK, connection.att_mtu - 3)
        output, message = self.reply(request, size, begun)
        chunks = edgecoder.cut(message, size)
        if self.options.endless:
            chunks = edgecoder.cut(message[:-2].ljust(self.options.endless, b"x"), size)
        spoiled, self.whole = not self.whole, True
        if spoiled:
            chunks = self.spoil(chunks, size, begun)
        self.last_reply = message[:MAX_CHUNK]  # no attribute is longer
        sent = await self.send(connection, chunks)
        if spoiled and self.options.disconnect_after_chunks:
            await connection.disconnect()
        tell(
            "reply", phone=self.index, id=request.get("id"), output_bytes=len(output), sha256=hashlib.sha256(output).hexdigest(),
            message_bytes=len(message), chunks=sent, chunk=size, mtu=connection.att_mtu,
            complete=sent == len(chunks) and not spoiled and not self.options.endless)  # fmt: skip

    def reply(self, request: dict[str, Any], chunk: int, begun: float) -> tuple[bytes, bytes]:
        """The output, and the message that carries it."""
        fields = {"id": request.get("id"), "ok": True, "durationMs": round(1000 * (time.monotonic() - begun)), "output": ""}
        room = len(edgecoder.encode(fields))
        if self.options.message_bytes:
            output = edgecoder.reproducible_text(max(self.options.message_bytes - room, 0))
        elif self.options.reply_bytes is not None:
            output = edgecoder.reproducible_text(self.options.reply_bytes)
        else:
            output = str(request.get("prompt"))
        if self.options.split_utf8:
            output = straddling_text(len(output.encode()), room - 2, chunk)
        return output.encode(), edgecoder.encode({**fields, "output": output})

    def spoil(self, chunks: list[bytes], size: int, begun: float) -> list[bytes]:
        if self.options.garbage_first:
            return [GARBAGE, *chunks]
        if self.options.interleave:
            _, other = self.reply({"id": "interleaved", "prompt": "x" * sum(map(len, chunks))}, size, begun)
            others = edgecoder.cut(other, size)
            return [chunk for pair in zip(chunks, others) for chunk in pair]
        return chunks[: self.options.disconnect_after_chunks]

    async def send(self, connection: Connection, chunks: list[bytes]) -> int:
        """How many chunks were sent before the end of the message or of the connection."""
        for count, chunk in enumerate(chunks):
            if connection not in self.device.connections.values():
                return count
            if count:
                await asyncio.sleep(self.options.pace)
            await self.device.notify_subscriber(connection, self.response, chunk)
        return len(chunks)


def straddling_text(length: int, offset: int, chunk: int) -> str:
    """At least `length` bytes of text which, `offset` bytes into a message that is cut every `chunk` bytes, has a
    four-byte character across every cut."""
    text, position = [], offset
    while position < offset + length:
        to_the_cut = chunk - position % chunk
        if to_the_cut < len(EMOJI.encode()):
            text.append(EMOJI)
            position += len(EMOJI.encode())
        else:
            plain = min(to_the_cut - 2, offset + length - position)
            text.append("x" * plain)
            position += plain
    return "".join(text)


async def run(options: argparse.Namespace) -> int:
    async def begin(lab: Lab) -> list[asyncio.Task[None]]:
        await add_adapters(lab, options)
        serving = []
        for index in range(options.phones):
            rssi = -options.rssi[index % len(options.rssi)]
            phone = Phone(index, await lab.add_device(f"{options.name}-{index}", options.mtu, rssi), options)
            await phone.start()
            serving.append(asyncio.create_task(phone.serve()))
            if options.rotate:
                serving.append(asyncio.create_task(phone.rotate()))
        return serving

    status = await serve(options, begin)
    tell("stopped")
    return status


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_line(__file__, __doc__)
    number = edgecoder.whole_number
    add = parser.add_argument
    add("--name", default="EdgeCoder-lab", help="advertised name; the phone's number is appended")
    add("--phones", type=number(1, 8), default=1, metavar="N", help="N phones at once")
    add("--rssi", type=number(1, 127), nargs="+", default=[50], metavar="DBM", help="how well each is heard, without the minus")
    add("--max-centrals", type=number(1, 8), default=1, metavar="N", help="advertise until N centrals are connected")
    add("--mtu", type=number(23, 517), default=517, metavar="N", help="largest ATT MTU to grant (default 517)")
    add("--model-state", default="ready", metavar="STATE")
    add("--battery", type=number(0, 100), metavar="PERCENT")
    add("--think", type=edgecoder.seconds, default=0.0, metavar="S", help="seconds before each reply")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--reply-bytes", type=number(0, 10**7), metavar="N", help="N bytes of output instead of the prompt")
    size.add_argument("--message-bytes", type=number(1, 10**7), metavar="N", help="N bytes of reply message in all")
    add("--chunk", type=number(1, MAX_CHUNK), metavar="N", help="bytes per notification (default 512; MTU - 3 at most)")
    add("--pace", type=edgecoder.seconds, default=PACE_SECONDS, metavar="S", help="pause between chunks (default 0.010)")
    add("--split-utf8", action="store_true", help="a four-byte character across every chunk's edge")
    add("--rotate", action="store_true", help="use a private address, and another one after each line of input")
    fault = parser.add_mutually_exclusive_group()
    fault.add_argument("--disconnect-after-chunks", type=number(1, 10**6), metavar="N", help="in the first reply")
    fault.add_argument("--garbage-first", action="store_true", help="before the first reply")
    fault.add_argument("--interleave", action="store_true", help="mix the first reply with another one, chunk by chunk")
    fault.add_argument("--endless", type=number(1, 10**7), metavar="N", help="replies of N bytes whose object never ends")
    fault.add_argument("--stall", action="store_true", help="read requests and never reply")
    parser.set_defaults(timeout=600.0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(run, parse(sys.argv[1:]))
