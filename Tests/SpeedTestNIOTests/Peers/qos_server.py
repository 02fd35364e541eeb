"""A QoS server, written from the description of its protocol alone, for the client's tests.

    qos_server.py [--certificate PEM --private-key PEM] [--fault NAME] [--token TOKEN]

It prints on its first line the ports of: the control connection, TCP out, UDP out, the echo of lines, a web server, and a
resolver. Without --token it accepts every token. --fault names one thing that it, or the network before it, does wrong.
"""

import argparse
import errno
import hashlib
import http.server
import json
import re
import socket
import ssl
import struct
import threading
import time

COMMANDS = (
    "ACCEPT [GET UDPPORTS] [GET UDPPORT] [GET UDPRESULT IN port] [GET UDPRESULT OUT port] [UDPTEST IN port n] "
    "[UDPTEST OUT port n] [TCPTEST IN port] [TCPTEST OUT port] [NTPTEST port] [REQUEST CONN TIMEOUT ms] [QUIT]"
)
PAGE = bytes(range(256)) * 40


class Runs:
    """The datagrams of the run towards this server, and of the one from it."""

    def __init__(self):
        self.lock = threading.Lock()
        # Held while datagrams are sent: a client asks for the result as soon as it has replied to the last one.
        self.sending = threading.Lock()
        self.seen, self.duplicates = {}, 0
        self.incoming = {}


class Control:
    def __init__(self, sock, address, server):
        self.sock, self.address, self.server = sock, address, server
        self.file = sock.makefile("rb")
        self.write_lock = threading.Lock()

    def fault(self, name):
        return self.server.options.fault == name

    def say(self, line, mark=""):
        with self.write_lock:
            data = (line + mark + "\n").encode()
            # In pieces, as a network may deliver it.
            self.sock.sendall(data[:3])
            time.sleep(0.001)
            self.sock.sendall(data[3:])

    def line(self):
        data = self.file.readline(4096)
        if not data.endswith(b"\n"):
            raise ConnectionError
        return data.decode("ascii").rstrip("\r\n")

    def serve(self):
        if self.fault("silent"):
            time.sleep(60)
        if self.fault("not-qos"):
            self.say("SSH-2.0-OpenSSH_9.2")
            time.sleep(60)
        if self.fault("gigabyte-line"):
            while True:
                self.sock.sendall(b"Q" * 65536)
        self.say("QoSSP0.1")
        self.say("ACCEPT [TOKEN string]")
        token = re.fullmatch(r"TOKEN (\S+)", self.line())
        wanted = self.server.options.token
        if not token or wanted and token[1] != wanted:
            return  # the original closes without a word
        self.say("OK")
        self.say(COMMANDS)
        while True:
            line = self.line()
            match = re.fullmatch(r"(.*?)( \+ID\d+)?", line)
            if match[1] == "QUIT":
                return
            if self.fault("close-after-command"):
                return
            threading.Thread(target=self.command, args=(match[1].split(" "), match[2] or ""), daemon=True).start()

    def command(self, words, mark):
        try:
            self.perform(words, mark)
        except (ConnectionError, OSError):
            pass

    def perform(self, words, mark):
        server = self.server
        if self.fault("err"):
            return self.say("ERR ILLARG 17", mark)
        if self.fault("mute"):
            return None
        if words[:2] == ["TCPTEST", "OUT"]:
            return self.say("OK", mark)
        if words[:2] == ["TCPTEST", "IN"]:
            if self.fault("no-connection"):
                return None
            with socket.create_connection((self.address, int(words[2])), timeout=5) as sock:
                sock.sendall(f"HELLO TO {words[2]}\n".encode())
                sock.recv(1)
            return None
        if words[0] == "NTPTEST":
            return self.say("OK", mark)
        if words[:2] == ["UDPTEST", "OUT"]:
            with server.runs.lock:
                server.runs.seen, server.runs.duplicates = {}, 0
            return self.say("OK", mark)
        if words[:2] == ["UDPTEST", "IN"]:
            with server.runs.sending:
                return self.send_run(int(words[2]), int(words[3]))
        if words[:3] == ["GET", "UDPRESULT", "OUT"]:
            with server.runs.lock:
                return self.say(f"RCV {len(server.runs.seen)} {server.runs.duplicates} {{}}", mark)
        if words[:3] == ["GET", "UDPRESULT", "IN"]:
            with server.runs.sending, server.runs.lock:
                times = server.runs.incoming
                return self.say(f"RCV {len(times)} 0 {json.dumps(times)}", mark)
        self.say(COMMANDS, mark)
        self.sock.shutdown(socket.SHUT_RDWR)
        return None

    def send_run(self, port, count):
        uuid = b"8723358c-2037-4029-a70c-91e5d9d35cf3"
        with self.server.runs.lock:
            self.server.runs.incoming = {}
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            # Longer than a busy machine leaves a client waiting.
            sock.settimeout(10)
            for sequence in range(count):
                start = time.monotonic_ns()
                payload = bytes([3, sequence]) + uuid + struct.pack(">Q", start)
                sock.sendto(payload, (self.address, port))
                if self.fault("udp-duplicates"):
                    sock.sendto(payload, (self.address, port))
                try:
                    while True:
                        reply = sock.recv(2048)
                        # Only the payload of this very datagram has its time.
                        if reply[0] == 2 and reply[1] == sequence and reply[2:] == payload[2:]:
                            break
                    with self.server.runs.lock:
                        self.server.runs.incoming[str(sequence)] = time.monotonic_ns() - start
                except TimeoutError:
                    pass
                time.sleep(0.02)


class Server:
    def __init__(self, options):
        self.options, self.runs = options, Runs()
        self.context = None
        if options.certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(options.certificate, options.private_key)
        self.control = socket.create_server(("127.0.0.1", 0))
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.echo = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), web_handler(options.fault))
        self.dns, self.dns_tcp = resolver_sockets()

    def start(self):
        for work in (self.serve_tcp, self.serve_udp, self.serve_echo, self.web.serve_forever, self.serve_dns, self.serve_dns_tcp):
            threading.Thread(target=work, daemon=True).start()
        sockets = (self.control, self.tcp, self.udp, self.echo, self.web.socket, self.dns)
        print(" ".join(str(sock.getsockname()[1]) for sock in sockets), flush=True)
        while True:
            sock, address = self.control.accept()
            threading.Thread(target=self.serve_control, args=(sock, address[0]), daemon=True).start()

    def serve_control(self, sock, address):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.context:
                sock = self.context.wrap_socket(sock, server_side=True)
            Control(sock, address, self).serve()
        except (OSError, UnicodeDecodeError):
            pass
        finally:
            sock.close()

    def serve_tcp(self):
        while True:
            sock, _ = self.tcp.accept()
            line = b""
            while not line.endswith(b"\n") and (part := sock.recv(100)):
                line += part
            if self.options.fault == "tcp-other":
                line = b"HTTP/1.1 302 Found\n"
            if self.options.fault != "tcp-silent":
                for byte in line:
                    sock.sendall(bytes([byte]))
            threading.Timer(8 if self.options.fault == "tcp-silent" else 0, sock.close).start()

    def serve_udp(self):
        count = 0
        while True:
            data, sender = self.udp.recvfrom(2048)
            match = re.fullmatch(rb"\x03(.)([0-9a-f-]{36})(\d{13})", data, re.DOTALL)
            if not match:
                continue
            count += 1
            if self.options.fault == "udp-loses" and count % 2:
                continue
            with self.runs.lock:
                if data in self.runs.seen:
                    self.runs.duplicates += 1
                self.runs.seen[data] = True
            for _ in range(2 if self.options.fault == "udp-duplicates" else 1):
                self.udp.sendto(b"\x02" + data[1:], sender)
            self.udp.sendto(b"\x02noise that is no reply", sender)

    def serve_echo(self):
        while True:
            sock, _ = self.echo.accept()
            with sock:
                line = sock.makefile("rb").readline(8193)
                if self.options.fault == "proxy":
                    line = line.replace(b"GET", b"GET http://cache.example")
                sock.sendall(line)

    # DNS

    def answer(self, query, over_tcp=False):
        question = query[12:]
        labels, place = [], 0
        while question[place]:
            labels.append(question[place + 1:place + 1 + question[place]].decode().lower())
            place += 1 + question[place]
        kind = struct.unpack(">H", question[place + 1:place + 3])[0]
        question, name = question[:place + 5], ".".join(labels)
        flags, answers = 0x8180, []
        pointer = b"\xc0\x0c"

        def record(record_kind, data, owner=pointer):
            answers.append(owner + struct.pack(">HHIH", record_kind, 1, 300, len(data)) + data)

        if name.startswith("none"):
            flags |= 3
        elif name.startswith("long") and not over_tcp:
            flags |= 0x0200
        elif kind == 1:
            alias = b"\x05alias" + pointer
            record(5, alias)
            record(1, bytes([192, 0, 2, 7]), alias)
            record(1, bytes([192, 0, 2, 8]), alias)
        elif kind == 28:
            record(28, socket.inet_pton(socket.AF_INET6, "2001:db8::7"))
        elif kind == 15:
            record(15, struct.pack(">H", 10) + b"\x04mail" + pointer)
        elif kind == 16:
            record(16, b"\x05hello\x06 world")
        elif kind == 5:
            record(5, b"\x05alias" + pointer)
        return query[:2] + struct.pack(">HHHHH", flags, 1, len(answers), 0, 0) + question + b"".join(answers)

    def serve_dns(self):
        while True:
            query, sender = self.dns.recvfrom(512)
            if b"silent" in query:
                continue
            # A forged response and a broken one come first.
            self.dns.sendto(bytes([query[0] ^ 1]) + self.answer(query)[1:], sender)
            self.dns.sendto(self.answer(query)[:13], sender)
            self.dns.sendto(self.answer(query), sender)

    def serve_dns_tcp(self):
        while True:
            sock, _ = self.dns_tcp.accept()
            with sock:
                length = struct.unpack(">H", sock.recv(2))[0]
                data = self.answer(sock.recv(length), over_tcp=True)
                sock.sendall(struct.pack(">H", len(data)))
                sock.sendall(data)


def resolver_sockets():
    """A UDP socket and a TCP listener with the same port. A port that is free for one may be taken for the other."""
    while True:
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", 0))
        try:
            return datagrams, socket.create_server(datagrams.getsockname())
        except OSError as error:
            datagrams.close()
            if error.errno != errno.EADDRINUSE:
                raise


def web_handler(fault):
    class Web(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            if self.path == "/moved":
                self.send_response(302)
                self.send_header("Location", "/page")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if self.path == "/slow" or fault == "web-silent":
                time.sleep(30)
                return
            if self.path != "/page":
                self.send_error(404)
                return
            body, status = PAGE, 200
            match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if match:
                body, status = PAGE[int(match[1]):int(match[2]) + 1], 206
            self.send_response(status)
            self.send_header("X-Hash", hashlib.md5(body).hexdigest())
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Web


def main():
    parser = argparse.ArgumentParser()
    for name in ("certificate", "private-key", "fault", "token"):
        parser.add_argument(f"--{name}")
    Server(parser.parse_args()).start()


if __name__ == "__main__":
    main()
