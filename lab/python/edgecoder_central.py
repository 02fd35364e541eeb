"""A Mac that asks: an EdgeCoder central on Bumble, to test a phone that is on BlueZ.

    lab/radio-lab run --no-btvirt -- sh -c '
      PYTHON lab/python/edgecoder_central.py --prompt hello & the-phone-under-test --adapter hci0; wait'

PYTHON is what `lab/radio-lab venv` prints. The program gives BlueZ an adapter (named in its first line of output), waits
for a phone to advertise on it, connects, subscribes, asks, and prints JSON lines:

    {"event":"adapter","name":"hci0","address":"0A:0B:0C:0D:0E:00"}
    {"event":"connected","central":0,"mtu":517,"address":"..."}
    {"event":"status","central":0,"status":{"modelState":"ready"},"via":"read"}    or "notification"
    {"event":"reply","central":0,"id":"...","ok":true,"output_bytes":5,"sha256":"...","chunks":1,"largest_chunk":58,...}
    {"event":"result","passed":true,...}

Exit code 0 if every prompt got its whole reply, 1 if not (the last line says why), 2 for wrong usage.
`reply.output_bytes` and `reply.sha256` are of the output text in UTF-8; gaps are milliseconds between two notifications.

With --listeners one central after the other connects, subscribes, and must be sent the status before the next one comes;
then all ask. What each hears, the replies to the others included, must be whole objects.

Faults, each followed by a plain retry of the prompts on a new connection unless --no-retry:
    --disconnect-after-chunks N   disconnect in the middle of the first reply
    --radio-loss-after-chunks N   silence, then the supervision timeout
    --malformed KIND              first send something no phone should choke on, then wait --malformed-pause
"""
import argparse
import asyncio
import hashlib
import json
import random
import statistics
import sys
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from bumble.device import Connection, Device, Peer
from bumble.gatt_client import CharacteristicProxy
from bumble.hci import Address, HCI_ErrorCode, OwnAddressType

import edgecoder
from edgecoder import REQUEST, RESPONSE, SERVICE, STATUS, Collector, tell
from peer import Failure, add_adapters, command_line, judge, main
from radiolab import Lab, find

# BlueZ before 5.70 refuses writes of 511 and 512 bytes and long writes of more than 508 to its own GATT server.
SAFE_WRITE = 508
PHASE_LIMIT = 40
UNHEARD = HCI_ErrorCode.CONNECTION_FAILED_TO_BE_ESTABLISHED_ERROR

MALFORMED = {
    "garbage": b"\x00\xff{{{]]]not json at all",
    "bad-utf8": b'{"id":"bad","prompt":"\xff\xfe"}',
    "no-id": b'{"prompt":"who asks?"}',
    "no-prompt": b'{"id":"malformed"}',
    "wrong-types": b'{"id":"malformed","prompt":42,"maxTokens":"many"}',
    "array": b"[1,2,3]",
    "unterminated": b'{"id":"malformed","prompt":"this never ends',
    "endless": b'{"id":"malformed","prompt":"' + b"x" * 300_000,
}


@dataclass
class Link:
    """A connection that is subscribed and ready to ask."""

    connection: Connection
    peer: Peer
    request: CharacteristicProxy
    pieces: asyncio.Queue[tuple[float, bytes]] = field(default_factory=asyncio.Queue)
    statuses: list[Any] = field(default_factory=list)
    of_status: Collector = field(default_factory=Collector)
    sent_status: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Prompt:
    text: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()).upper())

    def encoded(self, max_tokens: int) -> bytes:
        return edgecoder.encode({"id": self.id, "prompt": self.text, "maxTokens": max_tokens})


class Central:
    def __init__(self, index: int, device: Device, lab: Lab, options: argparse.Namespace, mtu: int):
        self.index = index
        self.device = device
        self.mtu = mtu
        self.lab = lab
        self.options = options
        self.random = random.Random(options.split_writes)
        self.avoid: set[Address] = set()

    async def work(self) -> None:
        """The whole program of one central; a Failure if it does not end well."""
        options = self.options
        faulty = options.disconnect_after_chunks or options.radio_loss_after_chunks
        link = await self.connect()
        if options.malformed:
            await self.send_malformed(link)
        if faulty:
            await self.ask_and_break(link)
            if options.no_retry:
                return
            link = await self.connect()
        await self.ask(link, [Prompt(text) for text in options.prompts])
        await self.hang_up(link)

    async def connect(self) -> Link:
        """A link to the first phone that is found. A request may go unheard: BlueZ restarts its advertising when another
        central leaves. The link then ends as "failed to be established" before anything came over it, and a host asks again."""
        while True:
            address = await self.within("no phone was found", find(self.device, SERVICE))
            connection = await self.within("no connection", self.device.connect(address, own_address_type=OwnAddressType.RANDOM))
            reasons: list[int] = []
            connection.on("disconnection", reasons.append)
            try:
                return await self.set_up(connection, address)
            except asyncio.CancelledError:
                # Bumble cancels what waits for an answer when its link ends; a limit of ours cancels this task as well.
                if reasons != [UNHEARD] or (task := asyncio.current_task()) and task.cancelling():
                    raise
                tell("unheard", central=self.index, address=str(address))

    async def set_up(self, connection: Connection, address: Address) -> Link:
        peer = Peer(connection)
        if self.mtu > 23:
            await self.within("no MTU", peer.request_mtu(self.mtu))
        tell("connected", central=self.index, mtu=peer.gatt_client.mtu, address=str(address))
        return await self.within("the service was not usable", self.subscribe(connection, peer))

    async def subscribe(self, connection: Connection, peer: Peer) -> Link:
        await peer.discover_service(SERVICE)
        if not peer.get_services_by_uuid(SERVICE):
            raise Failure("the phone has no EdgeCoder service")
        await peer.discover_characteristics(service=peer.get_services_by_uuid(SERVICE)[0])
        request, response, status = (self.only(peer, each) for each in (REQUEST, RESPONSE, STATUS))
        link = Link(connection, peer, request)
        await peer.subscribe(response, lambda value: link.pieces.put_nowait((time.monotonic(), bytes(value))))
        await peer.subscribe(status, lambda value: self.take_status(link, bytes(value)))
        if self.options.listeners:
            await link.sent_status.wait()
        else:
            value = bytes(await peer.read_value(status))
            self.note_status(link, json.loads(value) if value else None, "read")
        return link

    def take_status(self, link: Link, piece: bytes) -> None:
        status = link.of_status.add(piece)
        if status is not None:
            self.note_status(link, status, "notification")
            link.sent_status.set()

    @staticmethod
    def only(peer: Peer, characteristic: Any) -> CharacteristicProxy:
        found = peer.get_characteristics_by_uuid(characteristic)
        if len(found) != 1:
            raise Failure(f"{len(found)} characteristics {characteristic}")
        return found[0]

    def note_status(self, link: Link, status: Any, via: str) -> None:
        link.statuses.append(status)
        tell("status", central=self.index, status=status, via=via)

    async def ask(self, link: Link, prompts: list[Prompt]) -> None:
        batches = [prompts] if self.options.pipeline else [[prompt] for prompt in prompts]
        for batch in batches:
            for prompt in batch:
                await self.write(link, prompt.encoded(self.options.max_tokens))
            await self.collect(link, batch)

    async def collect(self, link: Link, prompts: list[Prompt]) -> None:
        """Whole replies to all of `prompts`, in their order; replies to strangers' prompts are counted and skipped."""
        collector, arrivals, foreign = Collector(), [], 0
        awaited = list(prompts)
        while awaited:
            arrived, piece = await self.next_piece(link, len(collector))
            arrivals.append((arrived, len(piece)))
            reply = collector.add(piece)
            if reply is None:
                continue
            if reply.get("id") == awaited[0].id:
                self.report(awaited.pop(0), reply, arrivals, foreign, link)
            else:
                foreign += 1
            arrivals = []

    async def next_piece(self, link: Link, collected: int) -> tuple[float, bytes]:
        while link.pieces.empty():
            if link.connection not in self.device.connections.values():
                raise Failure(f"disconnected after {collected} bytes of a reply")
            try:
                return await asyncio.wait_for(link.pieces.get(), 0.2)
            except TimeoutError:
                continue
        return link.pieces.get_nowait()

    def report(self, prompt: Prompt, reply: dict[str, Any], arrivals: list[tuple[float, int]], foreign: int, link: Link) -> None:
        output = str(reply.get("output")).encode()
        sizes = [size for _, size in arrivals]
        gaps = [1000 * (later[0] - earlier[0]) for earlier, later in zip(arrivals, arrivals[1:])]
        tell(
            "reply", central=self.index, id=prompt.id, ok=reply.get("ok"), duration_ms=reply.get("durationMs"),
            output_bytes=len(output), sha256=hashlib.sha256(output).hexdigest(), echo=output == prompt.text.encode(),
            chunks=len(sizes), message_bytes=sum(sizes), largest_chunk=max(sizes), smallest_chunk=min(sizes),
            gap_ms_min=round(min(gaps), 2) if gaps else None, gap_ms_median=round(statistics.median(gaps), 2) if gaps else None,
            mtu=link.peer.gatt_client.mtu, foreign_replies=foreign, statuses=link.statuses)  # fmt: skip
        if set(reply) != {"id", "output", "ok", "durationMs"}:
            raise Failure(f"the reply's fields are {sorted(reply)}")

    async def ask_and_break(self, link: Link) -> None:
        """Ask the first prompt and break the link in the middle of its reply."""
        options = self.options
        await self.write(link, Prompt(options.prompts[0]).encoded(options.max_tokens))
        for _ in range(options.disconnect_after_chunks or options.radio_loss_after_chunks):
            await self.next_piece(link, 0)
        if options.disconnect_after_chunks:
            await self.hang_up(link)
            tell("broken", central=self.index, by="disconnect", chunks=options.disconnect_after_chunks)
        else:
            await self.lab.lose_radio(options.supervision)
            tell("broken", central=self.index, by="radio loss", chunks=options.radio_loss_after_chunks)

    async def send_malformed(self, link: Link) -> None:
        """Replies to it, if any, are events of their own and no part of what follows."""
        await self.write(link, MALFORMED[self.options.malformed])
        tell("malformed", central=self.index, kind=self.options.malformed)
        collector = Collector()
        deadline = time.monotonic() + self.options.malformed_pause
        while time.monotonic() < deadline:
            try:
                _, piece = await asyncio.wait_for(link.pieces.get(), deadline - time.monotonic())
            except TimeoutError:
                break
            if reply := collector.add(piece):
                tell("malformed-reply", central=self.index, reply=reply)

    async def write(self, link: Link, message: bytes) -> None:
        limit = min(self.options.write_size or SAFE_WRITE, link.peer.gatt_client.mtu - 3)
        for piece in self.pieces(message, limit):
            await self.within("a write was not answered", link.peer.write_value(link.request, piece, with_response=not self.options.commands))

    def pieces(self, message: bytes, limit: int) -> list[bytes]:
        if self.options.split_writes is None:
            return edgecoder.cut(message, limit)
        pieces = []
        while message:
            size = self.random.randint(1, limit)
            pieces.append(message[:size])
            message = message[size:]
        return pieces

    async def hang_up(self, link: Link) -> None:
        await self.within("no disconnection", link.connection.disconnect())

    @staticmethod
    async def within(problem: str, step: Any) -> Any:
        try:
            return await asyncio.wait_for(step, PHASE_LIMIT)
        except TimeoutError as error:
            raise Failure(f"{problem} within {PHASE_LIMIT} s") from error


async def ask(lab: Lab, options: argparse.Namespace) -> None:
    mtus = options.listeners or [options.mtu] * options.centrals
    centrals = [Central(index, await lab.add_device(f"central-{index}", mtu), lab, options, mtu) for index, mtu in enumerate(mtus)]
    if options.listeners:
        await listen(centrals, options.prompts)
    else:
        await asyncio.gather(*(central.work() for central in centrals))


async def listen(centrals: list[Central], texts: list[str]) -> None:
    """One after the other subscribes; then all ask at once, and none leaves before all have their replies."""
    links = [await central.connect() for central in centrals]
    own = [[Prompt(text) for text in texts] for _ in centrals]
    await asyncio.gather(*(central.ask(link, each) for central, link, each in zip(centrals, links, own)))
    for central, link in zip(centrals, links):
        if len(link.of_status):
            raise Failure(f"central {central.index} heard a status with holes")
        await central.hang_up(link)


async def run(options: argparse.Namespace) -> int:
    async def work(lab: Lab) -> None:
        await add_adapters(lab, options)
        await ask(lab, options)

    return await judge(options, work)


def mtus(text: str) -> list[int]:
    return [edgecoder.whole_number(23, 517)(each) for each in text.split(",")]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_line(__file__, __doc__)
    number = edgecoder.whole_number
    add = parser.add_argument
    add("--prompt", dest="prompts", action="append", default=[], metavar="TEXT", help="ask this; repeatable")
    add("--prompt-bytes", action="append", type=number(1, 10**6), default=[], metavar="N", help="ask N bytes; repeatable")
    add("--max-tokens", type=number(1, 10**6), default=512, metavar="N")
    add("--pipeline", action="store_true", help="write all prompts before waiting for the first reply")
    add("--centrals", type=number(1, 8), default=1, metavar="N", help="N centrals at once, each with all prompts")
    add("--listeners", type=mtus, default=[], metavar="MTU,…", help="a central for each MTU, which subscribe in this order")
    add("--mtu", type=number(23, 517), default=517, metavar="N", help="ATT MTU to ask for (default 517)")
    add("--write-size", type=number(1, 514), metavar="N", help=f"bytes per write (default {SAFE_WRITE}; MTU - 3 at most)")
    add("--split-writes", type=number(0, 2**31), metavar="SEED", help="cut the request at random places")
    add("--commands", action="store_true", help="write without response")
    add("--malformed", choices=sorted(MALFORMED), help="send this first")
    add("--malformed-pause", type=edgecoder.seconds, default=1.0, metavar="S", help="then wait (default 1)")
    broken = parser.add_mutually_exclusive_group()
    broken.add_argument("--disconnect-after-chunks", type=number(1, 10**6), metavar="N")
    broken.add_argument("--radio-loss-after-chunks", type=number(1, 10**6), metavar="N")
    add("--no-retry", action="store_true", help="end after the fault")
    options = parser.parse_args(arguments)
    options.prompts += [edgecoder.reproducible_text(size) for size in options.prompt_bytes]
    options.prompts = options.prompts or ["hello"]
    return options


if __name__ == "__main__":
    main(run, parse(sys.argv[1:]))
