"""A device as a btsnoop file shows it, for replay_peer.py: its advertisement, its attributes, its answers, and what it sent.

The rules are those of EdgeBlue's `RecordedDevice`: a value that the device sent belongs to its subscription, where the
characteristic sent something before the client wrote anything to its service after it, and otherwise to the last write to
the service before it.
"""
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator

HEADER = struct.Struct(">8sII")
RECORD = struct.Struct(">IIIIQ")
COMMAND, EVENT, SENT, RECEIVED = 2, 3, 4, 5
MONITOR, UART = 2001, 1002
LONGEST = 0x20000
# The errors after which bluetoothd pairs and asks again: insufficient authentication, key size, encryption.
WITHOUT_KEY = (0x05, 0x0C, 0x0F)
PRIMARY, SECONDARY, INCLUDE, CHARACTERISTIC, CONFIGURATION = 0x2800, 0x2801, 0x2802, 0x2803, 0x2902


class NotARecording(Exception):
    """A file that is no btsnoop file, or does not show the device."""


@dataclass
class Record:
    time: int
    adapter: int
    kind: int
    data: bytes


def records(path: Path) -> Iterator[Record]:
    """The records of a file of btmon, `edgeblue capture` or Android; a file that is cut ends with its last whole one."""
    data = path.read_bytes()
    if len(data) < HEADER.size or data[:8] != b"btsnoop\0":
        raise NotARecording(f"{path} is no btsnoop file")
    _, version, link = HEADER.unpack_from(data)
    if version != 1 or link not in (MONITOR, UART):
        raise NotARecording(f"{path} has version {version} and datalink {link}; 1 with 2001 or 1002 can be replayed")
    offset = HEADER.size
    while offset + RECORD.size <= len(data):
        _, size, flags, _, time = RECORD.unpack_from(data, offset)
        offset += RECORD.size
        content = data[offset : offset + size]
        if size > LONGEST or len(content) < size:
            return
        offset += size
        if link == MONITOR:
            yield Record(time, flags >> 16, flags & 0xFFFF, content)
        elif content:
            kind = {1: COMMAND, 2: RECEIVED if flags & 1 else SENT, 4: EVENT}.get(content[0])
            if kind is not None:
                yield Record(time, 0, kind, content[1:])


@dataclass
class Reaction:
    """What the device did for a cause: ("subscription", handle), ("write", handle, value) or ("connection",)."""

    cause: tuple[Any, ...]
    time: int
    error: int = 0
    sent: list[tuple[float, int, bytes, bool]] = field(default_factory=list)


@dataclass
class Recording:
    """Everything that is replayed of a device."""

    address: str
    is_random: bool = True
    advertising: bytes = b""
    scan_response: bytes = b""
    mtu: int = 23
    # (first, last, UUID as it was in the packet, whether primary), then by handle: properties, value handle and UUID.
    services: dict[int, tuple[int, bytes, bool]] = field(default_factory=dict)
    characteristics: dict[int, tuple[int, int, bytes]] = field(default_factory=dict)
    descriptors: dict[int, bytes] = field(default_factory=dict)
    # Declarations of included services: handle and value.
    includes: dict[int, bytes] = field(default_factory=dict)
    answers: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)
    reactions: list[Reaction] = field(default_factory=list)
    protected: set[int] = field(default_factory=set)

    def owner(self, handle: int) -> tuple[int, int, bytes] | None:
        """The characteristic to which a descriptor belongs."""
        before = [place for place in self.characteristics if place <= handle]
        return self.characteristics[max(before)] if before else None

    def service(self, handle: int) -> int | None:
        """The service to which an attribute belongs, by its handle."""
        before = [place for place in self.services if place <= handle <= self.services[place][0]]
        return max(before, default=None)


class Causes:
    """The reactions to which a value may belong, by their places, as far as the recording was followed."""

    def __init__(self, recording: Recording):
        self.recording = recording
        self.start(-1)

    def start(self, connection: int) -> None:
        self.connection = connection
        self.subscriptions: dict[int, int] = {}
        # By service; None for attributes of no known service.
        self.writes: dict[int | None, int] = {}

    def add(self, place: int, cause: tuple[Any, ...]) -> None:
        if cause[0] == "connection":
            self.start(place)
        elif cause[0] == "subscription":
            self.subscriptions[cause[1]] = place
        else:
            self.writes[self.recording.service(cause[1])] = place

    def write(self, handle: int) -> int:
        """The last write to the service of an attribute; to any service, where that is not known."""
        service = self.recording.service(handle)
        places = [place for of, place in self.writes.items() if service is None or of in (service, None)]
        return max(places, default=-1)

    def is_stream(self, handle: int) -> bool:
        return self.subscriptions.get(handle, -1) > self.write(handle)

    def of(self, handle: int, is_stream: bool) -> int:
        """The cause of a value that comes now; -1 for none."""
        subscription = self.subscriptions.get(handle, -1)
        if is_stream and subscription >= 0:
            return subscription
        cause = max(subscription, self.write(handle))
        return cause if cause >= 0 else self.connection


class Reader:
    """Follows one device through the records."""

    def __init__(self, address: str):
        self.made = Recording(address.upper())
        self.links: set[tuple[int, int]] = set()
        self.partial: dict[tuple[int, int, int], bytes] = {}
        self.pending: tuple[bytes, int] | None = None
        self.prepared: dict[int, bytes] = {}
        self.refused: set[int] = set()
        self.sent: list[tuple[int, int, bytes, bool]] = []
        self.seen = False

    def add(self, record: Record) -> None:
        if record.kind == EVENT:
            self.event(record)
        elif record.kind in (SENT, RECEIVED) and len(record.data) >= 4:
            self.data(record)

    def event(self, record: Record) -> None:
        data = record.data
        if data[:1] == b"\x05" and len(data) >= 6:
            self.links.discard((record.adapter, struct.unpack_from("<H", data, 3)[0] & 0xFFF))
        if data[:1] != b"\x3e" or len(data) < 5:
            return
        if data[2] in (0x01, 0x0A, 0x29) and data[3] == 0 and len(data) >= 14:
            link = (record.adapter, struct.unpack_from("<H", data, 4)[0] & 0xFFF)
            self.links.discard(link)
            if text(data[8:14]) == self.made.address:
                self.links.add(link)
                self.seen = True
                self.made.is_random = bool(data[7] & 1)
                self.made.reactions.append(Reaction(("connection",), record.time))
        elif data[2] == 0x02:
            self.advertisements(data)

    def advertisements(self, data: bytes) -> None:
        offset = 4
        for _ in range(data[3]):
            if offset + 9 > len(data):
                return
            kind, size = data[offset], data[offset + 8]
            content = data[offset + 9 : offset + 9 + size]
            if text(data[offset + 2 : offset + 8]) == self.made.address:
                self.seen = True
                self.made.is_random = bool(data[offset + 1] & 1)
                if kind == 4:
                    self.made.scan_response = content
                else:
                    self.made.advertising = content
            offset += 10 + size

    def data(self, record: Record) -> None:
        word, size = struct.unpack_from("<HH", record.data)
        link = (record.adapter, word & 0xFFF)
        if link not in self.links:
            return
        place = (*link, record.kind)
        before = self.partial.pop(place, b"") if word >> 12 & 3 == 1 else b""
        frame = before + record.data[4 : 4 + size]
        if len(frame) < 4:
            self.partial[place] = frame
            return
        length, channel = struct.unpack_from("<HH", frame)
        if len(frame) < 4 + length:
            self.partial[place] = frame
        elif channel == 4 and length:
            self.attribute(frame[4 : 4 + length], record.kind == SENT, record.time)

    def attribute(self, pdu: bytes, from_client: bool, time: int) -> None:
        code = pdu[0]
        # Even codes are a client's, and the device may be one, too. Commands and confirmations have no response.
        if from_client:
            if code == 0x52 and len(pdu) >= 3:
                self.write(pdu, time, 0)
            elif not code & 0x41 and code != 0x1E:
                self.pending = (pdu, time)
        elif code in (0x1B, 0x1D) and len(pdu) >= 3:
            self.sent.append((time, struct.unpack_from("<H", pdu, 1)[0], pdu[3:], code == 0x1D))
        elif code == 0x23:
            # Several notifications in one packet, each with its length; bluetoothd sends even a single one so.
            rest = pdu[1:]
            while len(rest) >= 4:
                handle, size = struct.unpack_from("<HH", rest)
                self.sent.append((time, handle, rest[4 : 4 + size], False))
                rest = rest[4 + size :]
        elif code & 1 and self.pending:
            (request, begin), self.pending = self.pending, None
            self.answer(request, pdu, begin)

    def answer(self, request: bytes, response: bytes, time: int) -> None:
        code = request[0]
        error = response[4] if response[0] == 0x01 and len(response) >= 5 else 0
        if code == 0x02 and response[0] == 0x03:
            self.made.mtu = max(23, min(struct.unpack_from("<H", request, 1)[0], struct.unpack_from("<H", response, 1)[0]))
        elif code in (0x10, 0x06, 0x08, 0x04):
            if not error:
                self.found(request, response)
        elif code == 0x0A and len(request) >= 3:
            self.read(struct.unpack_from("<H", request, 1)[0], error, response[1:])
        elif code == 0x0C and not error and len(request) >= 5:
            handle, offset = struct.unpack_from("<HH", request, 1)
            answers = self.made.answers.get(handle)
            if answers and len(answers[-1][1]) == offset:
                answers[-1] = (0, answers[-1][1] + response[1:])
        elif code == 0x12 and len(request) >= 3:
            self.write(request, time, error)
        elif code == 0x16 and not error and len(request) >= 5:
            handle = struct.unpack_from("<H", request, 1)[0]
            self.prepared[handle] = self.prepared.get(handle, b"") + request[5:]
        elif code == 0x18:
            for handle, value in self.prepared.items():
                if request[1:2] == b"\x01":
                    self.made.reactions.append(Reaction(("write", handle, value), time, error))
            self.prepared = {}

    def found(self, request: bytes, response: bytes) -> None:
        code, made = request[0], self.made
        if code == 0x10 and response[0] == 0x11 and response[1] > 4:
            primary = struct.unpack_from("<H", request, 5)[0] == PRIMARY
            for entry in pieces(response[2:], response[1]):
                first, last = struct.unpack_from("<HH", entry)
                made.services[first] = (last, entry[4:], primary)
        elif code == 0x06 and response[0] == 0x07:
            for entry in pieces(response[1:], 4):
                first, last = struct.unpack("<HH", entry)
                made.services[first] = (last, request[7:], True)
        elif code == 0x08 and response[0] == 0x09 and response[1] > 2:
            kind = struct.unpack_from("<H", request, 5)[0] if len(request) == 7 else 0
            for entry in pieces(response[2:], response[1]):
                handle = struct.unpack_from("<H", entry)[0]
                if kind == CHARACTERISTIC and len(entry) >= 7:
                    properties, value = struct.unpack_from("<BH", entry, 2)
                    made.characteristics[handle] = (properties, value, entry[5:])
                elif kind == INCLUDE:
                    made.includes[handle] = entry[2:]
                else:
                    self.read(handle, 0, entry[2:])
        elif code == 0x04 and response[0] == 0x05:
            size = 2 if response[1] == 1 else 16
            for entry in pieces(response[2:], 2 + size):
                made.descriptors[struct.unpack_from("<H", entry)[0]] = entry[2:]

    def read(self, handle: int, error: int, value: bytes) -> None:
        answers = self.made.answers.setdefault(handle, [])
        if error in WITHOUT_KEY:
            self.refused.add(handle)
        elif handle in self.refused:
            self.refused.discard(handle)
            self.made.protected.add(handle)
            answers[:] = [answer for answer in answers if answer[0] not in WITHOUT_KEY]
        answers.append((error, b"" if error else value))

    def write(self, pdu: bytes, time: int, error: int) -> None:
        handle, value = struct.unpack_from("<H", pdu, 1)[0], pdu[3:]
        if not error and handle in self.refused:
            self.refused.discard(handle)
            self.made.protected.add(handle)
        elif error in WITHOUT_KEY:
            self.refused.add(handle)
            return
        owner = self.made.owner(handle)
        is_configuration = self.made.descriptors.get(handle, struct.pack("<H", CONFIGURATION)) == struct.pack("<H", CONFIGURATION)
        if owner and owner[1] != handle and len(value) == 2 and is_configuration:
            if value[0] & 3:
                self.made.reactions.append(Reaction(("subscription", owner[1]), time, error))
            return
        self.made.reactions.append(Reaction(("write", handle, value), time, error))

    def end(self) -> Recording:
        if not self.seen:
            raise NotARecording(f"the recording does not show {self.made.address}")
        streams = {value[1] for value, causes in self.followed() if causes.is_stream(value[1])}
        for (time, handle, value, indicates), causes in self.followed():
            place = causes.of(handle, handle in streams)
            if place >= 0:
                cause = self.made.reactions[place]
                cause.sent.append(((time - cause.time) / 1e6, handle, value, indicates))
        return self.made

    def followed(self) -> Iterator[tuple[tuple[int, int, bytes, bool], Causes]]:
        """Each value with the causes at its time."""
        causes, place = Causes(self.made), 0
        for value in self.sent:
            while place < len(self.made.reactions) and self.made.reactions[place].time <= value[0]:
                causes.add(place, self.made.reactions[place].cause)
                place += 1
            yield value, causes


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[place : place + size] for place in range(0, len(data) - size + 1, size)]


def text(address: bytes) -> str:
    """An address as it is written, from its bytes in a packet."""
    return ":".join(f"{byte:02X}" for byte in reversed(address))


def only_device(path: Path) -> str:
    """The device of a recording that has one connection, or several with the same one."""
    found = {
        text(record.data[8:14])
        for record in records(path)
        if record.kind == EVENT and record.data[:1] == b"\x3e" and len(record.data) >= 14
        and record.data[2] in (0x01, 0x0A, 0x29) and record.data[3:4] == b"\0"
    }  # fmt: skip
    if len(found) != 1:
        raise NotARecording(f"{path} has connections with {len(found)} devices: choose one with --device")
    return found.pop()


def read(path: Path, address: str) -> Recording:
    reader = Reader(address)
    for record in records(path):
        reader.add(record)
    return reader.end()
