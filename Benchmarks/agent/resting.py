"""Agents that wait: what they wait for, and what they need meanwhile. For `run` and `soak` beside it."""

import contextlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

MODES = {"off": "Off", "on": "On", "bluetooth-local": "Bluetooth Local"}
MODEL = "llama3.2:latest"
TICKS = os.sysconf("SC_CLK_TCK")


class Coordinator(http.server.BaseHTTPRequestHandler):
    """Takes every machine, and has work when there is some in `tasks`; and a model server that has one model."""

    protocol_version = "HTTP/1.1"
    # Head and body are sent at once, as servers do that are in use.
    wbufsize = -1
    calls: dict[str, int] = {}
    tasks: list[dict] = []
    answers = {
        "/register": {"accepted": True, "policy": {}, "mode": "swarm-only", "meshToken": "token"},
        "/heartbeat": {"ok": True, "requeued": 0, "policy": {}, "orchestration": None, "blacklist": {"version": 0, "agents": []}},
        "/result": {"ok": True},
    }

    def do_GET(self):
        """The model server's list."""
        self.answer({"models": [{"name": MODEL, "model": MODEL}]})

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.calls[self.path] = self.calls.get(self.path, 0) + 1
        if self.path == "/pull":
            self.answer({"subtask": self.tasks.pop() if self.tasks else None})
        elif self.path == "/api/generate":
            # Not at once, and another text in another time: the agent takes no more tasks when its results look made up.
            time.sleep(2 + self.calls[self.path] * 0.618 % 2)
            text = f"This is reply {self.calls[self.path]}. " + "It has some words. " * 40
            self.answer({"model": MODEL, "response": text, "done": True, "done_reason": "stop"})
        else:
            self.answer(self.answers.get(self.path))

    def answer(self, value):
        body = json.dumps(value or {}).encode()
        self.send_response(404 if value is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def build(package, product, scratch):
    command = ["swift", "build", "--package-path", str(package), "--product", product, *scratch]
    subprocess.run(command, check=True, stdout=sys.stderr)
    folder = subprocess.check_output([*command, "--show-bin-path"], text=True).strip()
    return str(pathlib.Path(folder, product))


class Bus:
    """A bus with a bluetoothd on it that has one adapter, and who listens to all that is said there."""

    def __init__(self, radio):
        self.radio = subprocess.Popen([radio], stdout=subprocess.PIPE, text=True)
        self.address = self.radio.stdout.readline().strip()
        match = "type='method_call',member='RegisterAdvertisement'"
        self.monitor = subprocess.Popen(
            ["dbus-monitor", "--address", self.address, "--profile", match], stdout=subprocess.PIPE, text=True)  # fmt: skip
        # What it says of itself at first.
        self.next_call(lambda line: "NameLost" in line)

    def next_call(self, wanted=lambda line: "RegisterAdvertisement" in line):
        while line := self.monitor.stdout.readline():
            if wanted(line):
                return time.monotonic()
        raise SystemExit("the bus has ended")

    def end(self):
        for process in (self.monitor, self.radio):
            process.terminate()
            process.wait(10)


@contextlib.contextmanager
def agents(edgeblue, radio):
    """The address of the coordinator and model server, and an agent in each mode by the mode's title, until they end."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Coordinator)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    with contextlib.ExitStack() as stack:
        stack.callback(server.shutdown)
        processes = {}
        for mode, title in MODES.items():
            bus = Bus(radio)
            stack.callback(bus.end)
            state = stack.enter_context(tempfile.TemporaryDirectory())
            choose(mode, state)
            command = [edgeblue, "agent", "--bus", bus.address, "--state", state, "--access", "open"]
            command += ["--engine", "ollama", "--engine-url", url, "--coordinator", url]
            environment = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=bus.address)
            processes[title] = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
            stack.callback(processes[title].wait, 30)
            stack.callback(processes[title].terminate)
        yield url, processes


def choose(mode, state):
    """As if a person had chosen the mode before."""
    record = {"mode": mode, "cause": "person", "runOnlyWhileCharging": False}
    pathlib.Path(state, "mode.json").write_text(json.dumps({"version": 1, "record": record}), encoding="utf-8")


def cpu(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid, kind="VmRSS"):
    """Memory of a process in MiB: VmRSS is what is resident, RssAnon what of it is its own."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(kind + ":"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"{pid} has ended")
