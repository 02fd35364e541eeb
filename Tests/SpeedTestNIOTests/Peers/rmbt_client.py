"""A measurement client of the RMBT protocol, written from the protocol's description alone, for the server's tests.

    rmbt_client.py PORT measure [--threads N] [--seconds S] [--key KEY] [--token v1|v2|combined] [--http] [--ws] [--ca PEM]
    rmbt_client.py PORT quirks [--key KEY] [--ws]
    rmbt_client.py PORT pings [--key KEY]

With --ws everything is in frames of a WebSocket, as a browser has it (RFC 6455). `pings` sends pings over UDP, to this
port, and prints what it got for each kind of token. `measure` runs all phases and prints one JSON object. `quirks` tries every rule of the protocol that a server has to
keep, prints `ok NAME` or `FAILED NAME: reason` for each, and fails when one of them did.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time
import uuid

COMMANDS = "ACCEPT GETCHUNKS GETTIME PUT PUTNORESULT PING QUIT"
NOISE = os.urandom(4194304)


def token_v1(key, at):
    head = f"{uuid.uuid4()}_{int(at)}"
    return head + "_" + base64.b64encode(hmac.new(key, head.encode(), "sha1").digest()).decode()


def token_v2(key, at, address="127.0.0.1"):
    moment = struct.pack(">I", int(at))
    ip16 = bytes(10) + b"\xff\xff" + socket.inet_aton(address)
    digest = lambda message, length: hmac.new(key, message, "sha256").digest()[:length]  # noqa: E731
    return base64.b64encode(moment + digest(moment, 8) + digest(moment + ip16, 4)).decode()


def make_token(options, at=None):
    key, at = (options.key or "nothing").encode(), at if at is not None else time.time()
    if options.token == "v2":
        return token_v2(key, at)
    if options.token == "combined":
        return token_v1(key, at) + "_#v2#" + token_v2(key, at)
    return token_v1(key, at)


class Framed:
    """A socket and its file in one, over the frames of a WebSocket: lines are text, one in each frame, chunks are bytes."""

    TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10

    def __init__(self, sock, path="/rmbt"):
        self.sock, self.file, self.rest = sock, sock.makefile("rb"), b""
        key = base64.b64encode(os.urandom(16)).decode()
        host = "localhost:%d" % sock.getpeername()[1]
        head = ["GET %s HTTP/1.1" % path, "Host: " + host, "Connection: keep-alive, Upgrade", "Upgrade: websocket",
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + key, "Origin: http://" + host,
                "Cookie: " + 3000 * "x"]
        sock.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
        status = self.file.readline()
        assert status.startswith(b"HTTP/1.1 101 "), status
        fields = {}
        while (line := self.file.readline()) != b"\r\n":
            name, value = line.decode().rstrip("\r\n").split(": ", 1)
            fields[name.lower()] = value
        digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        assert fields["sec-websocket-accept"] == base64.b64encode(digest).decode(), fields
        assert fields["upgrade"].lower() == "websocket" and fields["connection"].lower() == "upgrade", fields

    def makefile(self, _mode):
        return self

    def frame(self, opcode, payload, final=True):
        """The bytes of a masked frame."""
        mask = os.urandom(4)
        size = len(payload)
        head = bytes([(128 if final else 0) | opcode])
        if size < 126:
            head += bytes([128 | size])
        elif size < 65536:
            head += bytes([128 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([128 | 127]) + struct.pack(">Q", size)
        key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
        return head + mask + (int.from_bytes(payload, "big") ^ key).to_bytes(size, "big")

    def sendall(self, payload):
        self.sock.sendall(self.frame(self.TEXT if payload.endswith(b"\n") and len(payload) < 2000 else self.BINARY, payload))

    def receive(self):
        """The opcode and the payload of the next frame; None at the end of the connection."""
        head = self.file.read(2)
        if len(head) < 2:
            return None, b""
        assert head[0] & 0x70 == 0 and head[0] & 0x80, "a frame that is in parts or has bits that nobody negotiated"
        assert head[1] & 0x80 == 0, "a mask"
        size = head[1]
        if size == 126:
            size = struct.unpack(">H", self.file.read(2))[0]
            assert size >= 126, "a length that is not the shortest"
        elif size == 127:
            size = struct.unpack(">Q", self.file.read(8))[0]
            assert size >= 65536, "a length that is not the shortest"
        return head[0] & 0x0F, self.file.read(size)

    def readline(self):
        opcode, payload = self.receive()
        if opcode in (None, self.CLOSE):
            return b""
        assert opcode == self.TEXT and payload.endswith(b"\n") and payload.count(b"\n") == 1, (opcode, payload[:60])
        return payload

    def read(self, size=None):
        while size is None or len(self.rest) < size:
            opcode, payload = self.receive()
            if opcode in (None, self.CLOSE):
                break
            assert opcode == self.BINARY or size is None, (opcode, payload[:60])
            self.rest += payload
        size = len(self.rest) if size is None else size
        got, self.rest = self.rest[:size], self.rest[size:]
        return got


class Connection:
    """One connection; every answer is checked to the byte."""

    def __init__(self, options, authorise=True, token=None):
        self.options = options
        self.sock = socket.create_connection(("127.0.0.1", options.port), timeout=30)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if options.ca:
            context = ssl.create_default_context(cafile=options.ca)
            self.sock = context.wrap_socket(self.sock, server_hostname="localhost")
        if options.ws:
            self.sock = Framed(self.sock)
        self.file = self.sock.makefile("rb")
        if options.http:
            self.upgrade()
        greeting = self.line()
        assert greeting.startswith("RMBTv"), greeting
        assert all(part.isdigit() for part in greeting[5:].split(".")), greeting
        self.expect("ACCEPT TOKEN QUIT")
        if authorise:
            self.say("TOKEN " + (token or make_token(options)))
            self.expect("OK")
            self.expect("CHUNKSIZE 4096 4096 4194304")
            self.expect(COMMANDS)

    def upgrade(self, more=""):
        self.sock.sendall(
            b"GET /rmbt HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: RMBT\r\nRMBT-Version: 1.2.0\r\n\r\n" + more.encode())
        answer = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: RMBT\r\n\r\n"
        assert self.file.read(len(answer)) == answer

    def say(self, text):
        self.sock.sendall(text.encode() + b"\n")

    def line(self):
        text = self.file.readline()
        if not text:
            raise EOFError("closed")
        assert text.endswith(b"\n"), text
        return text[:-1].decode("ascii")

    def expect(self, text):
        got = self.line()
        assert got == text, f"expected {text!r}, got {got!r}"

    def time_line(self):
        words = self.line().split(" ")
        assert words[0] == "TIME" and len(words) == 2, words
        return int(words[1])

    def chunks(self, size, count=None):
        """Reads chunks up to the marked one; returns the bytes."""
        total = 0
        while True:
            chunk = self.file.read(size)
            assert len(chunk) == size, "closed within a chunk"
            total += size
            assert chunk[-1] in (0, 255), chunk[-1]
            if chunk[-1] == 255:
                assert count is None or total == count * size, (total, count, size)
                return total

    def get(self, command, size, count=None):
        start = time.monotonic()
        self.say(command)
        total = self.chunks(size, count)
        elapsed = time.monotonic() - start
        self.say("OK")
        server = self.time_line()
        self.expect(COMMANDS)
        return total, elapsed, server / 1e9

    def put(self, command, size, seconds=None, count=None):
        """Sends chunks for some seconds or a number of them; returns the bytes, the reports and the final time."""
        self.say(command)
        self.expect("OK")
        reports, final = [], []

        def read():
            while True:
                words = self.line().split(" ")
                assert words[0] == "TIME", words
                if len(words) == 2:
                    final.append(int(words[1]))
                    return
                assert words[2] == "BYTES" and len(words) == 4, words
                reports.append((int(words[1]), int(words[3])))

        # Python's TLS sockets cannot be read and written at the same time; the reports of a second fit the buffers.
        reader = None if self.options.ca else threading.Thread(target=read)
        if reader:
            reader.start()
        start, number = time.monotonic(), 0
        while True:
            number += 1
            is_last = number == count if count else time.monotonic() - start >= seconds
            self.sock.sendall(NOISE[: size - 1] + (b"\xff" if is_last else b"\0"))
            if is_last:
                break
        if reader:
            reader.join(20)
        else:
            read()
        self.expect(COMMANDS)
        assert reports == sorted(reports), "reports run backwards"
        return number * size, reports, final[0]

    def ping(self):
        start = time.monotonic()
        self.say("PING")
        self.expect("PONG")
        elapsed = time.monotonic() - start
        self.say("OK")
        server = self.time_line()
        self.expect(COMMANDS)
        return elapsed, server / 1e9


def in_threads(work, connections):
    results, errors = [None] * len(connections), []

    def run(index):
        try:
            results[index] = work(connections[index])
        except Exception as error:  # reported below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def measure(options):
    connections = [Connection(options) for _ in range(options.threads)]
    size = 65536
    in_threads(lambda each: [each.get(f"GETCHUNKS {2**n}", 4096, 2**n) for n in range(4)], connections)
    pings = [connections[0].ping() for _ in range(10)]
    start = time.monotonic()
    down = in_threads(lambda each: each.get(f"GETTIME {options.seconds} {size}", size), connections)
    down_time = time.monotonic() - start
    in_threads(lambda each: each.put("PUTNORESULT", size, count=4), connections)
    up = in_threads(lambda each: each.put("PUT", size, seconds=options.seconds), connections)
    for each in connections:
        each.say("QUIT")
        each.expect("BYE")
    print(json.dumps({
        "pings": len(pings), "medianPing": sorted(pings)[len(pings) // 2][1],
        "down": 8 * sum(total for total, _, _ in down) / down_time,
        "serverTimes": [server for _, _, server in down],
        "up": 8 * sum(sent for sent, _, _ in up) / max(final / 1e9 for _, _, final in up),
        "reports": min(len(reports) for _, reports, _ in up),
        "lost": sum(sent - reports[-1][1] for sent, reports, _ in up if reports[-1][1] > sent),
    }))


class Quirks:
    """Each method is a rule; its name is printed."""

    def __init__(self, options):
        self.options = options

    def ready(self, **more):
        return Connection(self.options, **more)

    def refused(self, connection, command):
        connection.say(command)
        connection.expect("ERR")
        connection.expect(COMMANDS)

    def works(self, connection):
        connection.ping()

    def counts_out_of_range(self):
        each = self.ready()
        for command in ("GETCHUNKS 0", "GETCHUNKS 300001", "GETCHUNKS -1", "GETCHUNKS x", "GETCHUNKS", "GETTIME 0",
                        "GETTIME 31", "GETTIME", "GETTIME 99999999999999999999"):
            self.refused(each, command)
        self.works(each)

    def sizes_out_of_range(self):
        each = self.ready()
        for command in ("GETCHUNKS 1 4095", "GETCHUNKS 1 4194305", "PUT 1", "PUTNORESULT 9999999", "GETTIME 1 0"):
            self.refused(each, command)
        self.works(each)

    def unknown_and_lower_case(self):
        each = self.ready()
        for command in ("ping", "HELLO", "TOKEN again", "OK", "GETCHUNKS 1 4096 1 1"):
            self.refused(each, command)
        self.works(each)

    def a_size_is_sticky_and_not_rounded(self):
        each = self.ready()
        each.get("GETCHUNKS 3", 4096, 3)
        each.get("GETCHUNKS 3 5001", 5001, 3)
        each.get("GETCHUNKS 2", 5001, 2)
        sent, reports, _ = each.put("PUT", 5001, count=50)
        assert sent == 5001 * 50 and reports[-1][1] <= sent, (sent, reports[-1])
        each.get("GETCHUNKS 1 4194304", 4194304, 1)

    def a_wrong_answer_to_pong(self):
        each = self.ready()
        each.say("PING")
        each.expect("PONG")
        each.say("WHAT")
        each.expect("ERR")
        each.expect(COMMANDS)
        self.works(each)

    def a_wrong_answer_to_chunks(self):
        each = self.ready()
        each.say("GETCHUNKS 1")
        each.chunks(4096, 1)
        each.say("NO")
        each.expect("ERR")
        each.expect(COMMANDS)

    def split_commands(self):
        each = self.ready()
        for byte in b"GETCHUNKS 2 4":
            each.sock.sendall(bytes([byte]))
            time.sleep(0.005)
        each.sock.sendall(b"096\n")
        each.chunks(4096, 2)
        each.say("OK")
        each.time_line()
        each.expect(COMMANDS)

    def pipelined_commands(self):
        each = self.ready()
        each.sock.sendall(b"PING\nOK\nPING\nOK\n")
        for _ in range(2):
            each.expect("PONG")
            each.time_line()
            each.expect(COMMANDS)

    def quit_at_any_time(self):
        early = self.ready(authorise=False)
        early.say("QUIT")
        early.expect("BYE")
        assert early.file.read() == b""
        late = self.ready()
        late.say("QUIT")
        late.expect("BYE")
        assert late.file.read() == b""

    def a_line_that_is_too_long(self):
        each = self.ready()
        each.sock.sendall(b"A" * 5000)
        try:
            assert each.file.read() in (b"", b"ERR\n")
        except ConnectionResetError:
            pass

    def an_upload_without_reports(self):
        sent, reports, final = self.ready().put("PUTNORESULT", 4096, count=20)
        assert sent == 20 * 4096 and not reports and final > 0

    def a_marker_only_counts_at_its_place(self):
        each = self.ready()
        each.say("PUTNORESULT")
        each.expect("OK")
        each.sock.sendall(b"\xff" * 4095 + b"\0" + b"\xff" * 4096)
        each.time_line()
        each.expect(COMMANDS)

    def a_marker_that_is_none(self):
        each = self.ready()
        each.say("PUTNORESULT")
        each.expect("OK")
        each.sock.sendall(b"\x07" * 4096)
        try:
            assert each.file.read() in (b"", b"ERR\n")
        except ConnectionResetError:
            pass

    def the_upgrade(self):
        options = argparse.Namespace(**{**vars(self.options), "http": True, "ws": False})
        self.works(Connection(options))

    def no_upgrade(self):
        handshake = "Upgrade: websocket\r\nSec-WebSocket-Key: "
        for request, status in (
            ("GET /rmbt HTTP/1.1\r\nHost: x\r\n\r\n", 426),
            ("POST / HTTP/1.1\r\nHost: x\r\n\r\n", 405),
            (f"GET / HTTP/1.1\r\nHost: x\r\n{handshake}x\r\nSec-WebSocket-Version: 13\r\n\r\n", 400),
            (f"GET / HTTP/1.1\r\nHost: x\r\n{handshake}{base64.b64encode(bytes(16)).decode()}\r\n\r\n", 400),
        ):
            answer = self.answer(request)
            assert answer.startswith(b"HTTP/1.1 %d " % status), (request, answer[:60])

    def answer(self, request):
        each = socket.create_connection(("127.0.0.1", self.options.port), timeout=30)
        each.sendall(request.encode())
        return each.makefile("rb").read()

    def the_page(self):
        head, body = self.answer("GET /?x HTTP/1.1\r\nHost: x\r\n\r\n").split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 200 OK\r\n"), head
        assert b"\r\nContent-Length: %d\r\n" % len(body) in head, head
        for kind in (b"script", b"style"):
            text = body.split(b"<%s>" % kind, 1)[1].split(b"</%s>" % kind, 1)[0]
            digest = base64.b64encode(hashlib.sha256(text).digest())
            assert b"%s-src 'sha256-%s'" % (kind, digest) in head, kind

    def other_frames(self):
        if not self.options.ws:
            return
        each = self.ready()
        ws, raw = each.sock, each.sock.sock
        raw.sendall(ws.frame(ws.PING, b"hello"))
        assert ws.receive() == (ws.PONG, b"hello")
        # A command in parts, with a ping between them and a pong that nobody has requested.
        raw.sendall(ws.frame(ws.TEXT, b"PI", final=False) + ws.frame(ws.PING, b"") + ws.frame(ws.PONG, b"x"))
        assert ws.receive() == (ws.PONG, b"")
        raw.sendall(ws.frame(0, b"NG\n"))
        each.expect("PONG")
        each.say("OK")
        each.time_line()
        each.expect(COMMANDS)
        raw.sendall(ws.frame(ws.CLOSE, b"\x03\xe8"))
        assert ws.receive() == (ws.CLOSE, b"\x03\xe8")
        assert ws.file.read() == b""

    def wrong_frames(self):
        if not self.options.ws:
            return
        for wrong in (b"\x81\x05PING\n", b"\xc1\x80abcd", b"\x83\x80abcd", b"\x09\x80abcd", b"\x80\x80abcd",
                      b"\x89\xfe\x00\x7eabcd", b"\x82\xff" + 8 * b"\xff" + b"abcd"):
            each = self.ready()
            each.sock.sock.sendall(wrong)
            assert each.file.readline() == b"ERR\n", wrong
            assert each.sock.receive()[0] == Framed.CLOSE, wrong

    def the_phone_sends_a_line_too_many(self):
        each = socket.create_connection(("127.0.0.1", self.options.port), timeout=30)
        each.sendall(b"GET /rmbt HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: RMBT\r\nRMBT-Version: 1.2.0@\r\n\r\n\n")
        file = each.makefile("rb")
        while file.readline() != b"\r\n":
            pass
        assert file.readline().startswith(b"RMBTv")
        assert file.readline() == b"ACCEPT TOKEN QUIT\n"
        each.sendall(b"TOKEN " + make_token(self.options).encode() + b"\n")
        assert file.readline() == b"OK\n"

    def tokens(self):
        if not self.options.key:
            return
        for form in ("v1", "v2", "combined"):
            options = argparse.Namespace(**{**vars(self.options), "token": form})
            self.works(Connection(options))
            self.is_rejected(make_token(options, time.time() - 95))
            self.is_rejected(make_token(options, time.time() + 60))
        for token in ("nonsense", "x" * 900, make_token(self.options).rsplit("_", 1)[0] + "_" + 27 * "A" + "="):
            self.is_rejected(token)
        stranger = argparse.Namespace(**{**vars(self.options), "key": "another key"})
        self.is_rejected(make_token(stranger))

    def is_rejected(self, token):
        each = self.ready(authorise=False)
        each.say("TOKEN " + token)
        assert each.line() == "ERR"
        assert each.file.read() == b""

    def an_early_token_waits(self):
        if not self.options.key:
            return
        start = time.time()
        Connection(self.options, token=make_token(self.options, start + 2))
        assert time.time() - start >= 0.9, time.time() - start


def pings(options):
    """Prints the answers to pings with tokens of several kinds."""
    key, now = (options.key or "nothing").encode(), time.time()
    good = base64.b64decode(token_v2(key, now))
    kinds = {
        "good": good, "other-address": base64.b64decode(token_v2(key, now, "192.0.2.1")),
        "an-hour-old": base64.b64decode(token_v2(key, now - 3600)), "too-old": base64.b64decode(token_v2(key, now - 14410)),
        "too-early": base64.b64decode(token_v2(key, now + 60)), "other-key": base64.b64decode(token_v2(b"another", now)),
        "short": good[:15], "long": good + b"x",
    }  # fmt: skip
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("127.0.0.1", options.port))
    for number, (name, token) in enumerate(kinds.items()):
        sock.settimeout(0.3)
        sock.send(b"RP01" + struct.pack(">I", 0xFFFFFFFF - number) + token)
        try:
            reply = sock.recv(100)
            assert reply[4:] == struct.pack(">I", 0xFFFFFFFF - number), reply
            print(name, reply[:4].decode(), flush=True)
        except TimeoutError:
            print(name, "none", flush=True)
    # The socket answers still.
    sock.settimeout(20)
    sock.send(b"RP01" + struct.pack(">I", 7) + good)
    print("again", sock.recv(100)[:4].decode())


def quirks(options):
    failed = False
    for name in [name for name in vars(Quirks) if not name.startswith("_")]:
        if name in ("ready", "refused", "works", "is_rejected", "answer"):
            continue
        try:
            getattr(Quirks(options), name)()
            print("ok", name, flush=True)
        except Exception as error:
            failed = True
            print(f"FAILED {name}: {type(error).__name__} {error}", flush=True)
    sys.exit(failed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("work", choices=["measure", "quirks", "pings"])
    parser.add_argument("--threads", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--key")
    parser.add_argument("--token", default="v1")
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--ws", action="store_true")
    parser.add_argument("--ca")
    options = parser.parse_args()
    {"measure": measure, "quirks": quirks, "pings": pings}[options.work](options)


if __name__ == "__main__":
    main()
