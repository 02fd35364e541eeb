"""The part of the radio benchmark that runs where the radios are: in the lab, or on a machine with two adapters.

    inside.py PROGRAMS    a folder with server, client, radio-bench and edgeblue; sizes come in the environment

Prints one JSON object per line for each thing measured, and what it is doing on stderr.
"""
import asyncio
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

from dbus_fast import BusType, DBusError, Message, MessageType, Variant
from dbus_fast.aio import MessageBus

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = pathlib.Path(sys.argv[1])
RADIO_BENCH, EDGEBLUE = str(PROGRAMS / "radio-bench"), str(PROGRAMS / "edgeblue")
PHONE, MAC = os.environ["EDGEBLUE_ADAPTERS"].split(",")[:2]
ROUNDS, TRIPS, REQUESTS, RESTARTS, CYCLES = (
    int(os.environ[f"BENCH_{name}"]) for name in ("ROUNDS", "TRIPS", "REQUESTS", "RESTARTS", "CYCLES"))
REPLY_BYTES = 200 << 10
STREAM_VALUES, STREAM_BYTES, STALL_MS = 10_000, 244, 5000
# bleak takes a minute for its stream when the emulator has a slow one.
PATIENCE = 180.0
# Cycles before the first sample that counts.
WARM_UP = 20
BUS = "org.freedesktop.DBus"
UUID = "ec0d000{0}-ec0d-ec0d-ec0d-ec0d000{0}ec0d"


def say(text):
    print(text, file=sys.stderr, flush=True)


def tell(**what):
    print(json.dumps(what), flush=True)


class Program:
    """A program that says "ready", and what it costs."""

    def __init__(self, *command):
        self.name = pathlib.Path(command[0]).name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    async def line(self):
        text = await asyncio.wait_for(asyncio.to_thread(self.process.stdout.readline), PATIENCE)
        if not text:
            raise SystemExit(f"{self.name} ended with status {self.process.wait(10)}")
        return text.strip()

    async def wait_for(self, word):
        while (text := await self.line()) != word:
            say(f"  {self.name}: {text}")

    async def measure(self, *others):
        """Lets a client that is ready go. Returns its numbers, and the CPU seconds that it and each other one took."""
        programs = (self, *others)
        before = [program.cpu() for program in programs]
        self.process.stdin.write("go\n")
        numbers = []
        while text := await self.line():
            numbers.append(float(text))
        return numbers, [program.cpu() - begun for program, begun in zip(programs, before)]

    def cpu(self):
        """CPU seconds of all its threads; precise, where utime and stime come in ticks of 10 ms."""
        return cpu_seconds(self.process.pid)

    def resident(self):
        """Resident bytes that are its own, and all."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        sizes = {key: int(value.split()[0]) << 10 for key, value in (line.split(":", 1) for line in lines) if "kB" in value}
        return sizes["RssAnon"], sizes["VmRSS"]

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await asyncio.to_thread(self.end)


def cpu_seconds(pid):
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass  # a thread that has just ended
    return total / 1e9


class Daemon:
    """A program that was there before: bluetoothd, the bus."""

    def __init__(self, name):
        found = (each for each in pathlib.Path("/proc").iterdir() if each.name.isdigit())
        self.pid = next(int(each.name) for each in found if (each / "comm").read_text().strip() == name)

    def cpu(self):
        return cpu_seconds(self.pid)


class BlueZ:
    def __init__(self, bus):
        self.bus = bus

    async def call(self, path, interface, member, signature="", *body):
        message = Message("org.bluez", path, interface, member, signature=signature, body=list(body))
        reply = await self.bus.call(message)
        if reply.message_type is MessageType.ERROR:
            raise DBusError(reply.error_name, str(reply.body))
        return reply.body

    async def watch_name(self):
        """A queue of the times at which bluetoothd came to the bus."""
        times = asyncio.Queue()
        rule = "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.bluez'"
        await self.bus.call(Message(BUS, "/org/freedesktop/DBus", BUS, "AddMatch", signature="s", body=[rule]))

        def note(message):
            if message.member == "NameOwnerChanged" and message.body[0] == "org.bluez" and message.body[2]:
                times.put_nowait(time.monotonic())

        self.bus.add_message_handler(note)
        return times

    async def objects(self):
        return (await self.call("/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"))[0]

    async def until(self, what, seconds=PATIENCE):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := what(await self.objects()):
                return found
            await asyncio.sleep(0.1)
        raise SystemExit("BlueZ did not come that far")

    async def forget_all(self):
        """Ends the links first: bluetoothd 5.66 has crashed when it was to forget a device whose link was just ending."""
        devices = [path for path, interfaces in (await self.objects()).items() if "org.bluez.Device1" in interfaces]
        for path in devices:
            try:
                await self.call(path, "org.bluez.Device1", "Disconnect")
            except DBusError as refusal:
                say(f"  {path}: {refusal}")

        def are_quiet(objects):
            return not any(path in objects and objects[path]["org.bluez.Device1"]["Connected"].value for path in devices)

        await self.until(are_quiet)
        for path, interfaces in (await self.objects()).items():
            if "org.bluez.Device1" in interfaces:
                await self.call(path.rsplit("/", 1)[0], "org.bluez.Adapter1", "RemoveDevice", "o", path)

    async def connected(self, start_server):
        """Scans, starts the server, connects. Returns the server, the device's address and path, and the paths of the
        request and response characteristics. The scan comes first: btvirt reports an advertisement once."""
        await self.forget_all()
        mac = f"/org/bluez/{MAC}"
        phone = (await self.objects())[f"/org/bluez/{PHONE}"]["org.bluez.Adapter1"]["Address"].value
        path = f"{mac}/dev_{phone.replace(':', '_')}"
        await self.call(mac, "org.bluez.Adapter1", "SetDiscoveryFilter", "a{sv}", {"Transport": Variant("s", "le")})
        await self.call(mac, "org.bluez.Adapter1", "StartDiscovery")
        server = start_server()
        try:
            await server.wait_for("ready")
            await self.until(lambda objects: path in objects)
            await self.call(mac, "org.bluez.Adapter1", "StopDiscovery")
            await self.call(path, "org.bluez.Device1", "Connect")
            await self.until(lambda objects: objects[path]["org.bluez.Device1"]["ServicesResolved"].value)
            found = {}
            for each, interfaces in (await self.objects()).items():
                if each.startswith(path + "/") and "org.bluez.GattCharacteristic1" in interfaces:
                    found[interfaces["org.bluez.GattCharacteristic1"]["UUID"].value] = each
            return server, phone, path, found[UUID.format(2)], found[UUID.format(3)]
        except BaseException:
            server.end()
            raise


async def trips(bluez, daemons, pair, number):
    python = sys.executable
    servers = {
        "edgeblue": (RADIO_BENCH, "server", PHONE),
        "c": (str(PROGRAMS / "server"), PHONE),
        "python": (python, str(HERE / "peers/server_dbusfast.py"), PHONE),
    }
    server, address, path, request, response = await bluez.connected(lambda: Program(*servers[pair]))
    clients = {
        "edgeblue": (RADIO_BENCH, "client", MAC, address, str(TRIPS)),
        "c": (str(PROGRAMS / "client"), request, response, "trips", str(TRIPS)),
        "python": (python, str(HERE / "peers/client_bleak.py"), path, address, str(TRIPS)),
    }
    async with server, Program(*clients[pair]) as client:
        await client.wait_for("ready")
        took, (client_cpu, server_cpu, *daemons_cpu) = await client.measure(server, *daemons)
    tell(what="trips", pair=pair, round=number, microseconds=took, client_cpu=client_cpu, server_cpu=server_cpu,
         daemons_cpu=sum(daemons_cpu))


async def unpaced(bluez, writer, number):
    """The same C reader for both writers: what differs is the writer."""
    servers = {
        "edgeblue": (RADIO_BENCH, "phone", PHONE, "0", str(REPLY_BYTES)),
        "c": (str(PROGRAMS / "server"), PHONE),
    }
    texts = {"edgeblue": '{"id":"1","prompt":"."}', "c": f"burst {REPLY_BYTES}"}
    server, _, _, request, response = await bluez.connected(lambda: Program(*servers[writer]))
    reader = (str(PROGRAMS / "client"), request, response, "reply", texts[writer], str(REPLY_BYTES))
    async with server, Program(*reader) as client:
        await client.wait_for("ready")
        took, (_, server_cpu) = await client.measure(server)
    tell(what="unpaced", writer=writer, round=number, microseconds=took[0], server_cpu=server_cpu)


async def notifications(bluez, reader, stall, number):
    """The same C server for all readers: what differs is the reader."""
    server, address, path, request, response = await bluez.connected(lambda: Program(str(PROGRAMS / "server"), PHONE))
    count, size, pause = str(STREAM_VALUES), str(STREAM_BYTES), str(STALL_MS if stall else 0)
    readers = {
        "edgeblue": (RADIO_BENCH, "stream", MAC, address, count, size, pause),
        "c": (str(PROGRAMS / "client"), request, response, "stream", count, size, pause),
        "python": (sys.executable, str(HERE / "peers/client_bleak.py"), path, address, count, size),
    }
    async with server, Program(*readers[reader]) as client:
        await client.wait_for("ready")
        (microseconds, received, dropped), (cpu,) = await client.measure()
    tell(what="notifications", reader=reader, stall=stall, round=number, microseconds=microseconds, received=received,
         dropped=dropped, sent=STREAM_VALUES, size=STREAM_BYTES, cpu=cpu)


async def paced(bluez):
    """EdgeBlue's own roles at both ends."""
    await bluez.forget_all()
    async with Program(RADIO_BENCH, "central", MAC, str(ROUNDS)) as central:
        await central.wait_for("scanning")
        async with Program(RADIO_BENCH, "phone", PHONE, "10", str(REPLY_BYTES)) as phone:
            await central.wait_for("ready")
            took, _ = await central.measure(phone)
    tell(what="paced", microseconds=took, bytes=REPLY_BYTES)


async def link(bluez):
    """The v2 link over both its bearers, the raw protocol and a plain copy over L2CAP, each in turn."""
    await bluez.forget_all()
    async with Program(RADIO_BENCH, "link", PHONE, MAC, str(ROUNDS)) as both:
        while (text := await both.line()) != "end":
            who, figure, number = text.split()
            tell(what="link", who=who, figure=figure, number=float(number))


async def memory(bluez):
    """`edgeblue phone` and `edgeblue central` as a person runs them, and many prompts over HTTP."""
    await bluez.forget_all()
    central_command = (EDGEBLUE, "central", "--adapter", MAC, "--port", "11435", "--json")
    phone_command = (EDGEBLUE, "phone", "--adapter", PHONE, "--engine", "echo", "--name", "bench", "--json")
    async with Program(*central_command) as central:
        await until_line(central, lambda event: event.get("event") == "scanning")
        async with Program(*phone_command) as phone:
            await until_line(central, lambda event: event.get("state") == "ready")
            drains = [asyncio.create_task(drain(program)) for program in (central, phone)]
            await asyncio.sleep(2)
            sample(0, central, phone)
            for count in range(1, REQUESTS + 1):
                await asyncio.to_thread(prompt, count)
                if count in (100, 1000) or count % 2500 == 0 or count == REQUESTS:
                    sample(count, central, phone)
        for task in drains:
            task.cancel()


def sample(requests, central, phone):
    for name, program in (("central", central), ("phone", phone)):
        own, all_of_it = program.resident()
        tell(what="memory", role=name, requests=requests, own=own, resident=all_of_it)
    say(f"  {requests} requests")


async def survival(bluez):
    """bluetoothd is killed and started again, many times, under a program that has declared one of each kind. In place
    is what bluetoothd itself shows; of the agent, which it shows nobody, the program says so."""
    await bluez.forget_all()
    came_back = await bluez.watch_name()
    async with Program(RADIO_BENCH, "survivor", PHONE, MAC) as survivor:
        await survivor.wait_for("ready")
        for count in range(RESTARTS + 1):
            if count:
                started = asyncio.create_task(asyncio.to_thread(restart_bluetoothd))
                began = await asyncio.wait_for(came_back.get(), PATIENCE)
                await survivor.wait_for("restored")
                took = time.monotonic() - began
                await started
                tell(what="survival", microseconds=took * 1e6, kept=kept(await bluez.objects()))
            if count % 10 == 0:
                sample_soak("survival", count, survivor=survivor)


def restart_bluetoothd():
    subprocess.run(["lab-fault", "bluetoothd", "kill"], check=True)
    subprocess.run(["lab-fault", "bluetoothd", "start"], check=True)


def kept(objects):
    phone, mac = (objects[f"/org/bluez/{name}"] for name in (PHONE, MAC))
    return {
        "services": UUID.format(1) in phone["org.bluez.Adapter1"]["UUIDs"].value,
        "advertisement": phone["org.bluez.LEAdvertisingManager1"]["ActiveInstances"].value == 1,
        "scan": mac["org.bluez.Adapter1"]["Discovering"].value,
    }


async def connections(bluez):
    """A link is made, used and ended, many times."""
    server, address, path, _, _ = await bluez.connected(lambda: Program(RADIO_BENCH, "server", PHONE))
    async with server, Program(RADIO_BENCH, "linker", MAC, address, str(CYCLES)) as client:
        await client.wait_for("ready")
        client.process.stdin.write("go\n")
        for count in range(1, CYCLES + 1):
            await client.wait_for(str(count))
            if count in (1, WARM_UP) or count % 100 == 0:
                sample_soak("connections", count, central=client, peripheral=server)


def sample_soak(part, count, **programs):
    for name, program in programs.items():
        own, _ = program.resident()
        tell(what=part, role=name, count=count, own=own, descriptors=program.descriptors())
    say(f"  {part}: {count}")


def prompt(number):
    body = json.dumps({"prompt": f"prompt {number}", "stream": False}).encode()
    with urllib.request.urlopen("http://127.0.0.1:11435/api/generate", body, timeout=PATIENCE) as reply:
        json.load(reply)


async def until_line(program, is_it):
    while not is_it(json.loads(await program.line())):
        pass


async def drain(program):
    while await asyncio.to_thread(program.process.stdout.readline):
        pass


PAIRS, WRITERS = ["edgeblue", "c", "python"], ["edgeblue", "c"]


def turns(who, number):
    """Another one starts each round: whoever comes first finds the caches cold."""
    first = number % len(who)
    return who[first:] + who[:first]


async def all_trips(bluez):
    daemons = [Daemon("bluetoothd"), Daemon("dbus-daemon")]
    for number in range(ROUNDS):
        for pair in turns(PAIRS, number):
            say(f"round {number + 1} of {ROUNDS}: round trips, {pair}")
            await trips(bluez, daemons, pair, number)


async def all_unpaced(bluez):
    for number in range(ROUNDS):
        for writer in turns(WRITERS, number):
            say(f"round {number + 1} of {ROUNDS}: unpaced reply, {writer}")
            await unpaced(bluez, writer, number)


async def all_notifications(bluez):
    for number in range(ROUNDS):
        for reader in turns(PAIRS, number):
            say(f"round {number + 1} of {ROUNDS}: notifications, {reader}")
            await notifications(bluez, reader, False, number)
        for reader in WRITERS:
            say(f"round {number + 1} of {ROUNDS}: notifications with a stall, {reader}")
            await notifications(bluez, reader, True, number)


PARTS = {
    "trips": all_trips,
    "unpaced": all_unpaced,
    "notifications": all_notifications,
    "paced": paced,
    "link": link,
    "memory": memory,
    "survival": survival,
    "connections": connections,
}


async def main():
    await PARTS[os.environ["BENCH_PART"]](BlueZ(await MessageBus(bus_type=BusType.SYSTEM).connect()))


asyncio.run(main())
