"""The ModemManager of this machine with a modem of this script:  modemmanager.py ADDRESS PROGRAM PLUGINS [none]

ModemManager runs on the bus, which is its system bus, too: a policy kit on it permits everything. Its Test interface takes
a modem whose port is a socket; this script answers the AT commands. With "none" there is no modem. Prints "ready" when
ModemManager is on the bus and has enabled the modem. Each line of its input is then the new registration of the modem:
STAT ACT OPERATOR, as in +CREG and +COPS. Ends with its input, and ModemManager with it.
"""

import asyncio
import os
import re
import signal
import socket
import sys

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

NAME, ROOT = "org.freedesktop.ModemManager1", "/org/freedesktop/ModemManager1"
PORT = f"abstract:edgeblue-{os.getpid()}"
OPERATORS = {"23201": "A1", "26201": "Telekom.de"}
FIXED = {
    "AT+CGMI": "EdgeBlue", "AT+GMI": "EdgeBlue", "AT+CGMM": "Socket modem", "AT+GMM": "Socket modem", "AT+CGMR": "1",
    "AT+CGSN": "356938035643809", "AT+GSN": "356938035643809", "ATI": "EdgeBlue", "AT+GCAP": "+GCAP: +CGSM,+DS,+ES",
    "AT+CPIN?": "+CPIN: READY", "AT+CFUN?": "+CFUN: 1", "AT+CSQ": "+CSQ: 20,99", "AT+CIMI": "232010000000001",
    "AT+WS46=?": "+WS46: (12,22,25,28,29)", "AT+CREG=?": "+CREG: (0-2)", "AT+CGREG=?": "+CGREG: (0-2)", "AT+CEREG=?": "+CEREG: (0-2)",
    "AT+CSCS=?": '+CSCS: ("IRA","UCS2")', "AT+CMGF=?": "+CMGF: (0,1)", "AT+IFC=?": "+IFC: (0-2),(0-2)",
}  # fmt: skip


class Modem:
    def __init__(self):
        self.stat, self.act, self.operator = 1, 7, "23201"
        self.writers, self.has_long_names = [], False

    def registration(self, name):
        area = f',"1A2B","0123ABCD",{self.act}' if self.stat in (1, 5) else ""
        return f"+{name}: 2,{self.stat}{area}"

    def answer(self, command):
        command = command.strip()
        if command in FIXED:
            return FIXED[command]
        if found := re.fullmatch(r"AT\+(C|CG|CE)REG\?", command):
            return self.registration(found[1] + "REG")
        if found := re.match(r"AT\+COPS=3,(\d)", command):
            self.has_long_names = found[1] == "0"
        if "+COPS?" in command:
            if self.stat not in (1, 5):
                return "+COPS: 0"
            long = self.has_long_names
            return f'+COPS: 0,{0 if long else 2},"{OPERATORS[self.operator] if long else self.operator}",{self.act}'
        if re.match(r"AT\+(CRSM|CPMS|CNMI|CSIM|CLCK|CCLK|CTZU|CUSD|CGDCONT\?|CIND)", command):
            return None
        return ""

    async def serve(self, reader, writer):
        self.writers.append(writer)
        while not reader.at_eof():
            try:
                data = await reader.readuntil(b"\r")
            except asyncio.IncompleteReadError:
                return
            answer = self.answer(data.decode("ascii", "replace"))
            text = "\r\nERROR\r\n" if answer is None else (f"\r\n{answer}\r\n" if answer else "") + "\r\nOK\r\n"
            writer.write(text.encode())

    def change(self, stat, act, operator):
        self.stat, self.act, self.operator = int(stat), int(act), operator
        for name in ("CREG", "CGREG", "CEREG"):
            # Without the mode, nobody has asked for it.
            text = self.registration(name).replace(": 2,", ": ")
            for writer in self.writers:
                writer.write(f"\r\n{text}\r\n".encode())


async def call(bus, path, interface, member, signature="", body=()):
    reply = await bus.call(Message(destination=NAME, path=path, interface=interface, member=member, signature=signature, body=list(body)))
    if reply.message_type is MessageType.ERROR:
        raise RuntimeError(f"{member}: {reply.error_name} {reply.body}")
    return reply.body


async def until(what, ask):
    for _ in range(600):
        try:
            if found := await ask():
                return found
        except RuntimeError as error:
            what = f"{what} ({error})"[:400]
        await asyncio.sleep(0.1)
    sys.exit(f"not within a minute: {what}")


def permit(message):
    if message.message_type is not MessageType.METHOD_CALL or message.path != "/org/freedesktop/PolicyKit1/Authority":
        return None
    if message.member == "CheckAuthorization":
        return Message.new_method_return(message, "(bba{ss})", [[True, False, {}]])
    if message.member == "GetAll":
        return Message.new_method_return(message, "a{sv}", [{"BackendName": Variant("s", "test"), "BackendVersion": Variant("s", "1"), "BackendFeatures": Variant("u", 0)}])
    return None


async def start_modem(bus, modem):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind("\0" + PORT)
    listener.listen()
    await asyncio.start_unix_server(modem.serve, sock=listener)
    await call(bus, ROOT, NAME + ".Test", "SetProfile", "ssas", ["edgeblue", "generic", [PORT]])

    async def modems():
        return list((await call(bus, ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"))[0])

    path = (await until("a modem", modems))[0]

    async def enabled():
        await call(bus, path, NAME + ".Modem", "Enable", "b", [True])
        return True

    await until("an enabled modem", enabled)


async def main(address, program, plugins, *words):
    policy = await MessageBus(bus_address=address).connect()
    policy.add_message_handler(permit)
    await policy.request_name("org.freedesktop.PolicyKit1")
    bus = await MessageBus(bus_address=address).connect()
    environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": address, "DBUS_SYSTEM_BUS_ADDRESS": address}
    output = None if os.environ.get("MM_DEBUG") else asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        program, "--test-session", "--test-enable", "--no-auto-scan", "--test-no-udev", "--test-no-suspend-resume", "--test-no-qrtr",
        f"--test-plugin-dir={plugins}", *(["--debug"] if output is None else []), env=environment, stdout=output, stderr=output)  # fmt: skip

    async def owned():
        reply = await bus.call(Message(destination="org.freedesktop.DBus", path="/", interface="org.freedesktop.DBus", member="NameHasOwner", signature="s", body=[NAME]))
        return reply.body[0]

    try:
        await until("ModemManager on the bus", owned)
        modem = Modem()
        if not words:
            await start_modem(bus, modem)
        print("ready", flush=True)
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            modem.change(*line.decode().split())
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


asyncio.run(main(*sys.argv[1:]))
