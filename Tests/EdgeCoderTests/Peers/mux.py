"""The v2 mux as docs/v2-mux.md specifies it, with nothing of ours but that page.

mux.py lines                     reads lines of text and writes what they mean: see `lines`
mux.py phone|central BEARER      is one side of a mux over `l2cap` or `gatt`, with what is sent as lines of hex

A side ends with its input. `>` precedes a frame or a value that it sends, `=` what it found, as JSON.
"""

import base64
import json
import re
import struct
import sys
import zlib

# Section 2: type, the fields before the text and their sizes, and the flags that a frame of this type may have.
COMPRESSED, DETAILED, FORM = 1, 2, 4
TERMS = ["version", "features", "window", "limit"]
FRAMES = {
    "HELLO": (0x01, TERMS, "<BBIH", 0),
    "WELCOME": (0x02, TERMS, "<BBIH", 0),
    "OPEN": (0x10, ["maxTokens", "length"], "<II", COMPRESSED | FORM),
    "DATA": (0x11, [], "<", COMPRESSED),
    "END": (0x12, ["status", "duration"], "<BI", COMPRESSED | DETAILED),
    "CREDIT": (0x13, ["bytes"], "<I", 0),
    "CANCEL": (0x14, [], "<", 0),
    "PROGRESS": (0x15, ["ahead"], "<H", 0),
    "FAIL": (0x1F, [], "<", 0),
}
NAMES = {kind: name for name, (kind, *_) in FRAMES.items()}
OVERHEAD, TEXT_LIMIT, DETAILS_LIMIT, REASON_LIMIT = 10, 65535, 256, 512
TAKES_COMPRESSED, TAKES_DETAILS, TAKES_FORMS = 1, 2, 4
OK, FAILED, NO_MODEL, BUSY, CANCELLED, REFUSED, CONTEXT, UNSUPPORTED = range(8)


class Malformed(Exception):
    pass


def encode(frame, deflating=False):
    kind, fields, sizes, allowed = FRAMES[frame["type"]]
    flags, text = 0, frame.get("text", b"")
    if deflating and allowed & COMPRESSED:
        packer = zlib.compressobj(wbits=-15)
        short = packer.compress(text) + packer.flush()
        if len(short) < len(text):
            flags, text = COMPRESSED, short
    if frame.get("form"):
        flags |= FORM
    body = struct.pack(sizes, *[frame[field] for field in fields])
    if frame.get("details"):
        flags |= DETAILED
        body += struct.pack("<H", len(frame["details"])) + frame["details"]
    bare = struct.pack("<BBI", kind, flags, frame.get("stream", 0)) + body + text
    return bare + struct.pack("<I", zlib.crc32(bare))


def decode(data):
    """The frame, or None for one that is to be ignored."""
    if len(data) < OVERHEAD:
        raise Malformed("too short")
    bare, (checksum,) = data[:-4], struct.unpack("<I", data[-4:])
    if zlib.crc32(bare) != checksum:
        raise Malformed("a wrong checksum")
    kind, flags, stream = struct.unpack("<BBI", bare[:6])
    if kind not in NAMES:
        if kind >= 0x80:
            return None
        raise Malformed("an unknown type")
    _, fields, sizes, allowed = FRAMES[NAMES[kind]]
    if flags & ~allowed:
        raise Malformed("unknown flags")
    head, rest = bare[6 : 6 + struct.calcsize(sizes)], bare[6 + struct.calcsize(sizes) :]
    if len(head) < struct.calcsize(sizes):
        raise Malformed("too short")
    frame = {"type": NAMES[kind], "stream": stream, **dict(zip(fields, struct.unpack(sizes, head)))}
    if fields == TERMS:
        if frame["version"] != 2:
            raise Malformed("another version")
        frame["features"] &= TAKES_COMPRESSED | TAKES_DETAILS | TAKES_FORMS
    if frame["type"] in ("HELLO", "WELCOME", "FAIL"):
        frame["stream"] = 0
    if frame.get("status", OK) > UNSUPPORTED:
        frame["status"] = FAILED
    if frame["type"] == "OPEN":
        frame["form"] = bool(flags & FORM)
    if flags & DETAILED:
        length = struct.unpack("<H", rest[:2])[0] if len(rest) >= 2 else len(rest)
        if length > len(rest) - 2:
            raise Malformed("too short")
        if length:
            frame["details"] = rest[2 : 2 + length]
        rest = rest[2 + length :]
    if flags & COMPRESSED:
        reader = zlib.decompressobj(wbits=-15)
        try:
            rest = reader.decompress(rest, TEXT_LIMIT)
        except zlib.error as error:
            raise Malformed("text that is not DEFLATE") from error
        if not reader.eof or reader.unused_data:
            raise Malformed("text that is not DEFLATE, or too long")
    if allowed & COMPRESSED or frame["type"] == "FAIL":
        frame["text"] = rest
    if frame["type"] == "DATA" and not rest:
        raise Malformed("DATA without text")
    return frame


# Section 4.
KINDS = ["PIECE", "LAST", "CREDIT", "CLOSE"]
WINDOW_OF_VALUES = 32


def encode_value(value):
    return struct.pack("<HBB", value["mux"], KINDS.index(value["kind"]), value["number"]) + value["data"]


def decode_value(data):
    if len(data) < 4 or data[2] >= len(KINDS):
        return None
    mux, kind, number = struct.unpack("<HBB", data[:4])
    return {"mux": mux, "kind": KINDS[kind], "number": number, "data": data[4:]}


# Section 1.
def encode_offer(psm, gatt):
    return struct.pack("<BBH", 2, (1 if psm else 0) | (2 if gatt else 0), psm)


def decode_offer(data):
    if len(data) < 4 or data[0] != 2:
        return None
    psm = struct.unpack("<H", data[2:4])[0] if data[1] & 1 else 0
    return {"psm": psm, "gatt": int(bool(data[1] & 2))}


def lines():
    """A line for each: `frame HEX`, `value HEX` and `offer HEX` become NAME FIELD=NUMBER …, with bytes in hex; these lines
    with `write` before them become hex again, compressed after `deflate`."""

    def shown(name, fields):
        words = [f"{key}={value.hex() if isinstance(value, bytes) else int(value)}" for key, value in fields.items()]
        return " ".join([name] + words)

    def told(what, data):
        if what == "frame":
            try:
                frame = decode(data)
            except Malformed:
                return "malformed"
            return shown(frame.pop("type"), frame) if frame else "ignored"
        found = decode_value(data) if what == "value" else decode_offer(data)
        return shown(found.pop("kind", "OFFER"), found) if found else "none"

    def written(words):
        pairs = [word.split("=") for word in words if "=" in word]
        found = {key: bytes.fromhex(text) if key in ("text", "details", "data") else int(text) for key, text in pairs}
        if words[0] == "OFFER":
            return encode_offer(**found)
        if "mux" in found:
            return encode_value({"kind": words[0], **found})
        return encode({"type": words[0], **found}, deflating=words[-1] == "deflate")

    for line in sys.stdin:
        first, *rest = line.split()
        print(written(rest).hex() if first == "write" else told(first, bytes.fromhex("".join(rest))), flush=True)


def say(mark, text):
    print(mark, text, flush=True)


class Channel:
    """A bearer with one SDU for each frame."""

    limit = 2048

    def send(self, frame):
        say(">", frame.hex())

    def receive(self, data):
        return [data]


class Values:
    """A bearer of values of a characteristic (section 4). The phone learns the number of the mux from the central."""

    limit = 2048
    size = 185 - 3

    def __init__(self, mux=None):
        self.mux, self.credit, self.next, self.expected, self.taken = mux, WINDOW_OF_VALUES, 0, 0, 0
        self.waiting, self.early, self.partial = [], {}, b""

    def send(self, frame):
        step = self.size - 4
        pieces = [frame[start : start + step] for start in range(0, len(frame), step)]
        self.waiting += [("PIECE", piece) for piece in pieces[:-1]] + [("LAST", pieces[-1])]
        self.flush()

    def flush(self):
        while self.waiting and self.credit:
            kind, piece = self.waiting.pop(0)
            self.emit(kind, self.next, piece)
            self.next, self.credit = (self.next + 1) % 256, self.credit - 1

    def emit(self, kind, number, data=b""):
        say(">", encode_value({"mux": self.mux, "kind": kind, "number": number, "data": data}).hex())

    def receive(self, data):
        value = decode_value(data)
        if value is None:
            return []
        if self.mux is None and value["kind"] in ("PIECE", "LAST") and value["number"] == 0:
            self.mux = value["mux"]
        if value["mux"] != self.mux:
            return []
        if value["kind"] == "CLOSE":
            sys.exit()
        if value["kind"] == "CREDIT":
            self.credit += value["number"]
            if self.credit > WINDOW_OF_VALUES:
                raise Malformed("credit for values that were not sent")
            self.flush()
            return []
        if (value["number"] - self.expected) % 256 >= WINDOW_OF_VALUES or value["number"] in self.early:
            raise Malformed("a value out of order")
        self.early[value["number"]] = value
        frames = []
        while value := self.early.pop(self.expected, None):
            self.expected, self.taken = (self.expected + 1) % 256, self.taken + 1
            self.partial += value["data"]
            if value["kind"] == "LAST":
                frames.append(self.partial)
                self.partial = b""
        if self.taken >= 8:
            self.emit("CREDIT", self.taken)
            self.taken = 0
        return frames


class Mux:
    """What both sides have: terms, credit of the streams, and text in turn."""

    window = 20_000

    def __init__(self, bearer, features):
        self.bearer, self.features, self.theirs = bearer, features, None
        # Stream: the first frame without its text, the text, the last frame without its text.
        self.sending, self.credit, self.granted, self.taken = {}, {}, {}, {}

    def terms(self):
        return {"version": 2, "features": self.features, "window": self.window, "limit": self.bearer.limit}

    def put(self, **frame):
        deflating = self.theirs is not None and self.features & self.theirs["features"] & TAKES_COMPRESSED
        self.bearer.send(encode(frame, deflating=bool(deflating)))

    def agree(self, frame):
        if frame["version"] != 2 or frame["limit"] < 527 or frame["stream"] != 0:
            raise Malformed("terms")
        self.theirs = frame

    def may(self, feature):
        return bool(self.theirs["features"] & feature)

    def send_text(self, stream, text, first=None, last=None):
        self.credit.setdefault(stream, self.theirs["window"])
        entry = self.sending.setdefault(stream, [first, b"", None])
        entry[1] += text
        entry[2] = last

    def flush(self):
        """One frame of each stream in turn, until nothing is left or no credit."""
        moved = True
        while moved:
            moved = False
            for stream, entry in list(self.sending.items()):
                first, text, last = entry
                room = min(self.bearer.limit, self.theirs["limit"]) - OVERHEAD - 16 - DETAILS_LIMIT
                piece = text[: min(room, self.credit[stream])]
                self.credit[stream] -= len(piece)
                entry[1] = text[len(piece) :]
                if first:
                    self.put(**first, text=piece)
                    entry[0], moved = None, True
                elif last and not entry[1]:
                    self.put(**last, text=piece)
                    del self.sending[stream], self.credit[stream]
                    moved = True
                elif piece:
                    self.put(type="DATA", stream=stream, text=piece)
                    moved = True
                elif not last and not entry[1]:
                    del self.sending[stream]

    def take(self, stream, text):
        """Counts text of the peer against the window, and grants more when a third of it was taken."""
        self.granted[stream] = self.granted.get(stream, self.window) - len(text)
        if self.granted[stream] < 0:
            raise Malformed("text beyond the credit")
        self.taken[stream] = self.taken.get(stream, 0) + len(text)
        if self.taken[stream] >= self.window // 3:
            self.put(type="CREDIT", stream=stream, bytes=self.taken[stream])
            self.granted[stream] += self.taken.pop(stream)

    def serve(self):
        for line in sys.stdin:
            for data in self.bearer.receive(bytes.fromhex(line)):
                frame = decode(data)
                if frame is None:
                    continue
                if frame["type"] == "FAIL":
                    raise Malformed(f"the peer said {frame['text']}")
                if frame["type"] == "CREDIT":
                    if frame["stream"] in self.credit:
                        self.credit[frame["stream"]] += frame["bytes"]
                else:
                    self.handle(frame)
            if self.theirs:
                self.flush()


# The keys of section 2, and a form that has all of them.
MEMBERS = {"version", "prompt", "messages", "images", "options", "format", "strict", "tools", "toolChoice", "thinking"}  # fmt: skip
OPTIONS = {
    "temperature", "top_p", "min_p", "typical_p", "repeat_penalty", "presence_penalty", "frequency_penalty", "top_k",
    "repeat_last_n", "seed", "num_ctx", "stop",
}  # fmt: skip
CALL = {"id": "call_1", "name": "weather", "arguments": '{"city":"Zürich"}'}
FULL = {
    "version": 1,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "toolCalls": [CALL]},
        {"role": "tool", "content": "rain", "toolCallId": "call_1", "toolName": "weather"},
    ],
    "images": [
        {"message": 1, "data": base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()},
        {"message": 1, "offset": 7, "data": base64.b64encode(b"GIF89a").decode()},
    ],
    "options": {
        "temperature": 0.25, "top_p": 0.5, "min_p": 0.1, "typical_p": 0.9, "repeat_penalty": 1.1,
        "presence_penalty": -1, "frequency_penalty": 2, "top_k": 40, "repeat_last_n": 64, "seed": -7, "num_ctx": 8192,
        "stop": ["\n", "END"],
    },
    "format": {"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "integer"}}},
    "strict": True,
    "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}],
    "toolChoice": {"name": "weather"},
    "thinking": "low",
}  # fmt: skip


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def problem(form):
    """What of a form is not understood; None for a good one."""
    if form.get("version") != 1:
        return "version"
    unknown = [key for key in form if key not in MEMBERS] + [key for key in form.get("options", {}) if key not in OPTIONS]
    if not ("prompt" in form) ^ ("messages" in form):
        unknown.append("prompt")
    return unknown[0] if unknown else None


class Phone(Mux):
    """Answers as the prompt says, and a form with every part that there is."""

    def __init__(self, bearer):
        super().__init__(bearer, TAKES_COMPRESSED | TAKES_FORMS)
        self.asked, self.held, self.cancelled = {}, [], 0

    def handle(self, frame):
        kind, stream = frame["type"], frame["stream"]
        if kind == "HELLO":
            self.agree(frame)
            return self.put(type="WELCOME", stream=0, **self.terms())
        if kind == "OPEN":
            self.asked[stream] = {**frame, "text": b""}
        if kind in ("OPEN", "DATA"):
            asked = self.asked.get(stream)
            if not asked:
                return None  # cancelled
            asked["text"] += frame["text"]
            self.take(stream, frame["text"])
            if len(asked["text"]) > asked["length"]:
                raise Malformed("text beyond the length")
            if len(asked["text"]) == asked["length"]:
                self.answer(stream, asked)
            return None
        if kind != "CANCEL":
            raise Malformed(f"{kind} from a central")
        if self.asked.pop(stream, None) or self.sending.pop(stream, None):
            self.cancelled += 1
            self.end(stream, CANCELLED)
        return None

    def end(self, stream, status, reason=""):
        self.put(type="END", stream=stream, status=status, duration=3, text=reason.encode())

    def finish(self, stream, text, **details):
        """Sends a reply; its last part stands in END."""
        del self.asked[stream]
        last = {"type": "END", "stream": stream, "status": OK, "duration": 1500}
        if details and self.may(TAKES_DETAILS):
            last["details"] = compact(details)
        self.send_text(stream, text, last=last)

    def answer(self, stream, asked):
        if asked["form"]:
            return self.answer_form(stream, json.loads(asked["text"]))
        prompt = asked["text"].decode()
        if status := re.fullmatch(r"status (\d+)", prompt):
            del self.asked[stream]
            return self.end(stream, int(status[1]), f"the reason of {status[1]}")
        if prompt == "wait":
            return self.put(type="PROGRESS", stream=stream, ahead=3)
        if prompt == "think":
            self.put(type="PROGRESS", stream=stream, ahead=0)
        if not prompt.startswith("together"):
            answer = f"{self.cancelled} cancelled" if prompt == "cancelled?" else prompt
            return self.finish(stream, answer.encode(), reason="length", promptTokens=asked["maxTokens"])
        # They are answered when all of them are there, and so at the same time.
        self.held.append((stream, prompt))
        if len(self.held) == 8:
            for held, text in self.held:
                self.finish(held, text.encode())
        return None

    def answer_form(self, stream, form):
        if unknown := problem(form):
            del self.asked[stream]
            return self.end(stream, UNSUPPORTED, f"`{unknown}` is not supported")
        # The order of the members of a format is that of the reply; that of others is free.
        same = form == FULL and compact(form["format"]) == compact(FULL["format"])
        parts = [
            {"ignored": ["num_ctx"]}, {"thinking": "hm\n"}, {"thinking": "…"},
            {"text": "the form is as specified" if same else json.dumps(form)}, {"later": 1}, {"toolCall": CALL},
        ]  # fmt: skip
        return self.finish(
            stream, b"".join(compact(part) + b"\n" for part in parts), reason="tool_calls", promptTokens=11,
            replyTokens=22, cachedTokens=3, reasoningTokens=4, loadNs=5, promptNs=6, replyNs=7)  # fmt: skip


class Central(Mux):
    """Sends what a phone must understand, all at once, and says what came back."""

    def __init__(self, bearer):
        super().__init__(bearer, TAKES_COMPRESSED | TAKES_DETAILS | TAKES_FORMS)
        self.replies, self.forms, self.order, self.last = {}, set(), [], 0
        self.put(type="HELLO", stream=0, **self.terms())

    def ask(self, content):
        form = isinstance(content, dict)
        text = compact(content) if form else content
        self.last += 1
        self.replies[self.last] = {"data": b""}
        if form:
            self.forms.add(self.last)
        first = {"type": "OPEN", "stream": self.last, "maxTokens": 9, "length": len(text), "form": form}
        self.send_text(self.last, text, first=first)

    def start(self):
        if not self.may(TAKES_FORMS) or not self.may(TAKES_COMPRESSED):
            raise Malformed("features")
        self.ask("Grüße".encode())
        self.ask(FULL)
        for number in range(4):
            self.ask(b"%d" % number * 30_000)
        self.ask({"version": 1, "prompt": "a", "audio": []})
        self.ask({"version": 2, "prompt": "a"})
        self.ask(b"\xff")
        self.ask(b"wait")
        self.ask(b"context")

    def handle(self, frame):
        kind, stream = frame["type"], frame["stream"]
        if kind == "WELCOME":
            self.agree(frame)
            return self.start()
        reply = self.replies[stream]
        if kind == "PROGRESS":
            # The others are answered first where one has to wait.
            reply.setdefault("ahead", []).append(frame["ahead"])
        elif kind == "DATA" or kind == "END" and frame["status"] == OK:
            reply["data"] += frame["text"]
            self.order.append(stream)
            self.take(stream, frame["text"])
        if kind == "END":
            reply["status"] = frame["status"]
            reply["reason"] = frame["text"].decode() if frame["status"] else None
            reply["details"] = json.loads(frame["details"]) if "details" in frame else None
            left = [stream for stream, reply in self.replies.items() if "status" not in reply]
            if left == [10]:
                self.put(type="CANCEL", stream=10)
            if not left:
                say("=", json.dumps(self.found()))
        elif kind not in ("DATA", "PROGRESS"):
            raise Malformed(f"{kind} from a phone")
        return None

    def found(self):
        found = []
        for stream, reply in self.replies.items():
            data = reply.pop("data")
            reply.pop("ahead", None)
            if stream in self.forms and reply["status"] == OK:
                if not data.endswith(b"\n"):
                    raise Malformed("a part without LF")
                # LF alone ends a line.
                reply["parts"] = [json.loads(line) for line in data.decode().split("\n")[:-1]]
            elif 3 <= stream <= 6:
                reply["echoed"] = data == b"%d" % (stream - 3) * 30_000
            else:
                reply["text"] = data.decode()
            found.append({key: value for key, value in reply.items() if value is not None})
        turns = sum(a != b for a, b in zip(self.order, self.order[1:]))
        return {"replies": found, "interleaved": turns > 20}


def main(role, bearer=None):
    if role == "lines":
        return lines()
    carrier = Channel() if bearer == "l2cap" else Values(0x1234 if role == "central" else None)
    return {"phone": Phone, "central": Central}[role](carrier).serve()


main(*sys.argv[1:])
