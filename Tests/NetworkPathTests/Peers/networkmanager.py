"""A real NetworkManager on a bus of its own, with one connection: to an access point in another network namespace.

    unshare --net --mount --propagation private python3 networkmanager.py BUS NETWORKMANAGER NMCLI

Prints `ready` when it is connected, then `done` for each line of the input when that is so:

    metered yes|no|unknown   what its user says of the cost of the connection
    page online|portal|none  what its page for connectivity answers: the expected text, a redirection, or nothing
    cable in|out             the cable to the access point
    connect                  the connection, which is made by itself later
    stop, start              NetworkManager itself

The end of the input ends all of it.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

BUS, MANAGER, CLIENT = sys.argv[1:]
LIMIT = 30
CONFIGURATION = """[main]
plugins=keyfile
no-auto-default=*
auth-polkit=false
dns=none
rc-manager=unmanaged
systemd-resolved=false
[keyfile]
path={folder}/connections
[device]
match-device=interface-name:wan
managed=1
[connectivity]
uri=http://10.77.0.1/check
response=online
interval=3600
[logging]
level=WARN
"""
CONNECTION = """[connection]
id=wan
uuid=6b2f2e1e-0b5e-4a8e-9a53-5c1b7cf3b0aa
type=ethernet
interface-name=wan
metered={metered}
[ipv4]
method=manual
address1=10.77.0.2/24,10.77.0.1
[ipv6]
method=disabled
"""
# In the other namespace: the page, and what it answers comes in the input.
ACCESS_POINT = """
import http.server, sys, threading
answer = "online"
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if answer == "portal":
            self.send_response(302)
            self.send_header("Location", "http://10.77.0.1/sign-in")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif answer == "online":
            self.send_response(200)
            self.send_header("Content-Length", "6")
            self.end_headers()
            self.wfile.write(b"online")
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("10.77.0.1", 80), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("listens", flush=True)
for line in sys.stdin:
    answer = line.strip()
    print("answers", flush=True)
"""


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=LIMIT).stdout


def until(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"not within {LIMIT} s: {what}")
        time.sleep(0.05)


class AccessPoint:
    """The other end of the cable."""

    def __init__(self):
        run("ip", "link", "set", "lo", "up")
        self.holder = subprocess.Popen(["unshare", "--net", "--kill-child", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/net")
        until(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own, "the other namespace")
        run("ip", "link", "add", "wan", "type", "veth", "peer", "name", "isp", "netns", str(self.holder.pid))
        self.inside("ip", "address", "add", "10.77.0.1/24", "dev", "isp")
        self.inside("ip", "link", "set", "isp", "up")
        self.page = subprocess.Popen(
            [*self.enter, sys.executable, "-c", ACCESS_POINT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.page.stdout.readline()

    @property
    def enter(self):
        return ["nsenter", "--net", "--target", str(self.holder.pid)]

    def inside(self, *command):
        run(*self.enter, *command)

    def answer(self, what):
        self.page.stdin.write(what + "\n")
        self.page.stdin.flush()
        self.page.stdout.readline()

    def plug(self, where):
        self.inside("ip", "link", "set", "isp", "up" if where == "in" else "down")

    def end(self):
        for process in (self.page, self.holder):
            process.kill()
            process.wait()


class Manager:
    def __init__(self, folder):
        self.folder = folder
        # What this machine's own has, if there is one, is none of its business.
        for place in ("/run", "/var/lib", "/etc/NetworkManager"):
            if os.path.isdir(place):
                run("mount", "-t", "tmpfs", "tmpfs", place)
        # Where this is writable, it waits for udev, which no other network namespace has.
        run("mount", "-t", "sysfs", "-o", "ro", "sysfs", "/sys")
        os.makedirs("/run/NetworkManager")
        os.makedirs("/var/lib/NetworkManager")
        os.makedirs(f"{folder}/connections")
        path = f"{folder}/connections/wan.nmconnection"
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONNECTION.format(metered=1))
        os.chmod(path, 0o600)
        with open(f"{folder}/NetworkManager.conf", "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(folder=folder))
        self.start()

    def start(self):
        files = [f"--config={self.folder}/NetworkManager.conf", f"--config-dir={self.folder}/none"]
        files += [f"--system-config-dir={self.folder}/none", f"--intern-config={self.folder}/intern.conf"]
        files += [f"--state-file={self.folder}/state", f"--pid-file={self.folder}/pid"]
        self.process = subprocess.Popen([MANAGER, "--no-daemon", *files], stdout=sys.stderr)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)

    def ask(self, *words):
        return run(CLIENT, *words)

    def is_connected(self):
        try:
            return self.ask("--terse", "--fields", "STATE", "general").startswith("connected")
        except subprocess.CalledProcessError:
            return False


def main():
    os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = BUS
    access_point = AccessPoint()
    with tempfile.TemporaryDirectory() as folder:
        manager = Manager(folder)
        try:
            until(manager.is_connected, "connected")
            print("ready", flush=True)
            for line in sys.stdin:
                match line.split():
                    case ["metered", value]:
                        manager.ask("connection", "modify", "wan", "connection.metered", value)
                        manager.ask("device", "reapply", "wan")
                    case ["page", what]:
                        access_point.answer(what)
                    case ["cable", where]:
                        access_point.plug(where)
                    case ["connect"]:
                        until(manager.is_connected, "connected")
                    case ["stop"]:
                        manager.stop()
                    case ["start"]:
                        manager.start()
                        until(manager.is_connected, "connected")
                    case _:
                        raise SystemExit(f"unknown: {line!r}")
                print("done", flush=True)
        finally:
            if manager.process.poll() is None:
                manager.stop()
            access_point.end()


main()
