"""A measurement server of the RMBT protocol, written from the protocol's description alone, for the client's tests.

    rmbt_server.py [--key KEY] [--http] [--nul] [--crlf] [--short-chunksize] [--certificate PEM --private-key PEM]
                   [--fault NAME] [--drop-input]

It prints its port on the first line. Without --key it accepts every token. --fault names one thing that it does wrong.
"""

import argparse
import base64
import hashlib
import hmac
import os
import re
import socket
import ssl
import struct
import threading
import time

COMMANDS = b"ACCEPT GETCHUNKS GETTIME PUT PUTNORESULT PING QUIT"
SMALLEST, LARGEST = 4096, 4194304
NOISE = bytearray(os.urandom(LARGEST))


class Gone(Exception):
    """The connection is over."""


def hmac_of(algorithm, key, message):
    return hmac.new(key, message, algorithm).digest()


def is_v1(token, key):
    parts = re.fullmatch(r"([0-9a-f-]{36})_(\d+)_(\S+)", token)
    if not parts or not -20 <= time.time() - int(parts[2]) <= 90:
        return False
    return base64.b64encode(hmac_of("sha1", key, f"{parts[1]}_{parts[2]}".encode())).decode() == parts[3]


def is_v2(token, key, address):
    raw = base64.b64decode(token)
    if len(raw) != 16 or not -20 <= time.time() - struct.unpack(">I", raw[:4])[0] <= 90:
        return False
    address = address.removeprefix("::ffff:")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    ip16 = packed if len(packed) == 16 else bytes(10) + b"\xff\xff" + packed
    whole = raw[:4] + hmac_of("sha256", key, raw[:4])[:8] + hmac_of("sha256", key, raw[:4] + ip16)[:4]
    return whole == raw


class Connection:
    def __init__(self, sock, address, options):
        self.sock, self.address, self.options, self.size = sock, address, options, SMALLEST
        self.pending = b""

    def line(self):
        while b"\n" not in self.pending:
            part = self.sock.recv(1024)
            if not part:
                raise Gone
            self.pending += part
            if len(self.pending) >= 1024 and b"\n" not in self.pending:
                raise Gone
        first, self.pending = self.pending.split(b"\n", 1)
        if self.options.drop_input:
            if self.pending:
                raise Gone  # the original drops what a client pipelines; here that is an error of the client
        return first.decode("ascii").rstrip("\r")

    def say(self, *lines):
        end = b"\r\n" if self.options.crlf else b"\n"
        self.sock.sendall(b"".join(text.encode() + end if isinstance(text, str) else text + end for text in lines))

    def upgrade(self):
        head = b""
        while b"\r\n\r\n" not in head:
            part = self.sock.recv(1024)
            if not part:
                raise Gone
            head += part
        lines = head.split(b"\r\n")
        assert lines[0] == b"GET /rmbt HTTP/1.1", lines[0]
        assert b"Upgrade: RMBT" in lines and b"Connection: Upgrade" in lines, lines
        answer = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: RMBT\r\n\r\n"
        self.sock.sendall(answer)

    def fault(self, name):
        return self.options.fault == name

    def greet(self):
        if self.fault("silent"):
            time.sleep(60)
        if self.fault("gigabyte-line"):
            while True:
                self.sock.sendall(b"R" * 65536)
        if self.options.http:
            self.upgrade()
        if self.options.nul:
            self.sock.sendall(b"\0")
        greeting = b"RMBTv1.3.5"
        if self.fault("drip"):
            for byte in b"x" * 600:
                self.sock.sendall(bytes([byte]))
                time.sleep(0.1)
        if self.fault("not-rmbt"):
            self.say("SSH-2.0-OpenSSH_9.2")
            time.sleep(60)
        self.say(greeting, b"ACCEPT TOKEN QUIT")
        text = self.line()
        if not text.startswith("TOKEN "):
            raise Gone
        token = text[6:]
        if not self.allows(token):
            if not self.fault("quiet-refusal"):
                self.say("ERR")
            raise Gone
        sizes = "CHUNKSIZE 4096" if self.options.short_chunksize else "CHUNKSIZE 4096 4096 4194304"
        self.say("OK", sizes, COMMANDS)

    def allows(self, token):
        if self.options.key is None:
            return True
        key = self.options.key.encode()
        if "_#v2#" in token:
            return is_v2(token.split("_#v2#", 1)[1], key, self.address)
        return is_v1(token, key) or len(token) == 24 and is_v2(token, key, self.address)

    def chosen_size(self, words):
        if words:
            size = int(words[0])
            if not SMALLEST <= size <= LARGEST:
                return False
            self.size = size
        return True

    def send_chunk(self, is_last):
        if self.fault("wrong-marker"):
            self.sock.sendall(NOISE[: self.size - 1] + b"\x42")
            return
        self.sock.sendall(memoryview(NOISE)[: self.size - 1])
        self.sock.sendall(b"\xff" if is_last else b"\0")

    def expect_ok(self):
        if self.line() != "OK":
            self.say("ERR")
            return False
        return True

    def get_chunks(self, words):
        count = int(words[0])
        if not 1 <= count <= 300000 or not self.chosen_size(words[1:]) or self.fault("err"):
            self.say("ERR")
            return
        start = time.monotonic_ns()
        endless = self.fault("endless-chunks")
        number = 0
        while endless or number < count:
            number += 1
            self.send_chunk(number == count and not endless)
            if self.fault("close-in-pretest"):
                raise Gone
        if self.expect_ok():
            self.say(f"TIME {time.monotonic_ns() - start}")

    def get_time(self, words):
        seconds = int(words[0])
        if not 1 <= seconds <= 30 or not self.chosen_size(words[1:]):
            self.say("ERR")
            return
        start = time.monotonic_ns()
        while time.monotonic_ns() - start < seconds * 10**9 or self.fault("endless-download"):
            self.send_chunk(False)
            if self.fault("close-in-download"):
                raise Gone
            if self.fault("stall-in-download"):
                time.sleep(60)
        self.send_chunk(True)
        if self.expect_ok():
            self.say(f"TIME {time.monotonic_ns() - start}")

    def put(self, words, reports):
        if not self.chosen_size(words):
            self.say("ERR")
            return
        self.say("OK")
        start = last = time.monotonic_ns()
        total, is_first = 0, True
        while True:
            part = self.sock.recv(65536)
            if not part:
                raise Gone
            before, total = total, total + len(part)
            # The marker is the last byte of each chunk: positions size-1, 2*size-1, …
            ends = range(self.size - 1 - before % self.size, len(part), self.size)
            markers = [part[end] for end in ends]
            if 0xFF in markers:
                assert markers.index(0xFF) == len(markers) - 1 and total % self.size == 0, "bytes behind the last chunk"
                break
            assert all(marker == 0 for marker in markers), f"a chunk ends with {markers}"
            now = time.monotonic_ns()
            if reports and (is_first or now - last > 10**6):
                if self.fault("close-in-upload"):
                    raise Gone
                if not self.fault("no-reports"):
                    self.say(f"TIME {now - start} BYTES {total}")
                if self.fault("time-backwards") and not is_first:
                    self.say(f"TIME 1 BYTES {total}")
                if self.fault("too-many-bytes"):
                    self.say(f"TIME {now - start} BYTES {10**18}")
                last, is_first = now, False
        if self.fault("no-final-time") and reports:
            time.sleep(60)
        self.say(f"TIME {time.monotonic_ns() - start}")

    def ping(self):
        if self.fault("close-in-ping"):
            raise Gone
        start = time.monotonic_ns()
        self.say("PONG")
        if self.expect_ok():
            self.say("TIME now" if self.fault("no-number") else f"TIME {time.monotonic_ns() - start}")

    def serve(self):
        self.greet()
        while True:
            words = self.line().split(" ")
            if words[0] == "QUIT":
                self.say("BYE")
                return
            if words[0] == "GETCHUNKS":
                self.get_chunks(words[1:])
            elif words[0] == "GETTIME":
                self.get_time(words[1:])
            elif words[0] in ("PUT", "PUTNORESULT"):
                self.put(words[1:], words[0] == "PUT")
            elif words[0] == "PING":
                self.ping()
            else:
                self.say("ERR")
            self.say(COMMANDS)


def run(sock, address, options, context):
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(30)
        if context:
            sock = context.wrap_socket(sock, server_side=True)
        Connection(sock, address, options).serve()
    except (Gone, OSError):
        pass
    finally:
        sock.close()


def main():
    parser = argparse.ArgumentParser()
    for flag in ("http", "nul", "crlf", "short-chunksize", "drop-input"):
        parser.add_argument(f"--{flag}", action="store_true")
    for name in ("key", "certificate", "private-key", "fault"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    context = None
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate, options.private_key)
    listener = socket.create_server((options.address, options.port), backlog=128)
    print(listener.getsockname()[1], flush=True)
    while True:
        sock, address = listener.accept()
        threading.Thread(target=run, args=(sock, address[0], options, context), daemon=True).start()


if __name__ == "__main__":
    main()
