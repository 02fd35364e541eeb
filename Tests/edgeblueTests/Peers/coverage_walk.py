"""Measures on a recorded walk through a hole in the coverage, draws the map, and sends what was measured, twice.

    unshare --net --pid --ipc --fork --kill-child --mount-proc coverage_walk.py PROGRAM TRACK FIRST LAST FOLDER

gpsd reads the track from gpsfake as it reads a receiver. `PROGRAM coverage run` measures in this network namespace. Its
two servers are in another one, at the other end of a cable, where every packet is dropped from the sentence FIRST of the
track until LAST. All processes end with this script, which is the first one of its namespace.

The track of the tests, walk.nmea, was computed and not walked: 80 locations of a receiver with differential corrections,
15 m and 10 s apart, from 48.2° N 16.37° E to the north with a bend to the right and one to the left.

Leaves in FOLDER what the command prints: `show-N.json` for each session, `send-1.jsonl` and `send-2.jsonl`; and the maps
`walk.html` and `walk.svg`, and the folder `server` of the control server. Prints one JSON object with the instants between
which no packet came through, in milliseconds since 1970.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE, THERE = "192.0.2.1", "192.0.2.2"
PING_PORT, CONTROL_PORT, GPSD_PORT = "5231", "5280", "2947"
PAUSE = "0.12"  # seconds between two sentences, of which each location has three
LIMIT = 60  # seconds for each thing that is waited for


def run(*words, **options):
    return subprocess.run(words, check=True, timeout=LIMIT, **options)


class Far:
    """The network namespace of the servers, which a process holds."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.holder.stdin.write(b"\n")
        self.holder.stdin.flush()
        # It reads in its own namespace, and not before.
        assert self.holder.stdout.read(1) == b"\n"
        self.enter = ["nsenter", "--target", str(self.holder.pid), "--net"]

    def run(self, *words):
        run(*self.enter, *words)

    def serve(self, *words):
        """Starts a server, whose first line says that it serves."""
        server = subprocess.Popen([*self.enter, *words], stdout=subprocess.PIPE)
        assert server.stdout.readline(), f"{words[1:3]} has ended"

    def connect(self):
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "name", "near0", "type", "veth", "peer", "name", "far0", "netns", str(self.holder.pid))
        run("ip", "addr", "add", f"{HERE}/24", "dev", "near0")
        run("ip", "link", "set", "near0", "up")
        self.run("ip", "addr", "add", f"{THERE}/24", "dev", "far0")
        self.run("ip", "link", "set", "far0", "up")
        run("ip", "route", "add", "default", "via", THERE)
        # The rule for its own addresses comes before all others, unless it is moved.
        self.run("ip", "rule", "add", "priority", "100", "lookup", "local")
        self.run("ip", "rule", "delete", "priority", "0")

    def drop(self, change):
        """Begins (add) or ends (delete) to drop every packet, without a word to its sender."""
        self.run("ip", "rule", change, "priority", "50", "from", HERE, "blackhole")


def serve(far, program, folder):
    keys = pathlib.Path(f"{folder}/keys")
    keys.touch(mode=0o600)
    keys.write_text("keyofpings label\n")
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
        "/CN=test", "-addext", f"subjectAltName=IP:{THERE}", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem",
        stderr=subprocess.DEVNULL)  # fmt: skip
    common = ["--key-file", str(keys), "--json"]
    far.serve(program, "speedtest", "serve", "--address", THERE, "--port", PING_PORT, *common)
    far.serve(program, "coverage", "serve", "--host", THERE, "--port", CONTROL_PORT, "--ping-host", THERE, "--ping-port",
              PING_PORT, "--certificate", f"{folder}/cert.pem", "--certificate-key", f"{folder}/key.pem", "--state",
              f"{folder}/server", *common)  # fmt: skip


def play(track, folder):
    """Starts gpsfake and returns it; it prints the number of each sentence just before gpsd gets it."""
    # gpsd reads from the beginning (-n): otherwise the terminal between the two is full before anybody listens.
    words = [sys.executable, "-u", shutil.which("gpsfake"), "-1", "-n", "-l", "-c", PAUSE, "-P", GPSD_PORT, track]
    # The name of its socket contains the number of the process, which is another's outside this namespace.
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": folder})


def walk(far, program, track, hole, folder):
    """Plays the track to a run, and returns the instants between which nothing came through."""
    command = [program, "coverage", "run", "--control", f"https://{THERE}:{CONTROL_PORT}", "--ca", f"{folder}/cert.pem"]
    command += ["--gpsd", f"127.0.0.1:{GPSD_PORT}", "--no-send", "--json", "--state", f"{folder}/state"]
    with open(track, encoding="ascii") as file:
        last = sum(line.startswith("$") for line in file)
    with open(f"{folder}/run.jsonl", "wb") as file:
        measuring = subprocess.Popen(command, stdout=file)
    player = play(track, folder)
    times = {}
    for line in player.stdout:
        number = re.match(r"gpsfake: line (\d+): ", line)
        number = int(number[1]) if number else 0
        if number == hole[0]:
            far.drop("add")
            times["firstMs"] = time.time_ns() // 1_000_000 + 1
        if number == hole[1]:
            times["lastMs"] = time.time_ns() // 1_000_000
            far.drop("delete")
        if number == last:
            break
    measuring.send_signal(signal.SIGINT)
    assert measuring.wait(LIMIT) == 0, measuring.returncode
    player.terminate()
    player.wait(LIMIT)
    return times


def main(program, track, first, last, folder):
    far = Far()
    far.connect()
    serve(far, program, folder)
    times = walk(far, program, track, (int(first), int(last)), folder)
    state = ["--state", f"{folder}/state"]

    def keep(name, *words):
        with open(f"{folder}/{name}", "wb") as file:
            run(program, "coverage", *words, *state, "--json", stdout=file)
        return pathlib.Path(f"{folder}/{name}").read_text(encoding="utf-8").splitlines()

    for line in keep("list.jsonl", "list"):
        session = str(json.loads(line)["id"])
        keep(f"show-{session}.json", "show", session)
    for name in ("walk.html", "walk.svg"):
        keep(f"{name}.json", "map", f"{folder}/{name}")
    for number in (1, 2):
        keep(f"send-{number}.jsonl", "send", "--ca", f"{folder}/cert.pem")
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
