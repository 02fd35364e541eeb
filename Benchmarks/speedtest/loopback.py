"""The client and the server beside a plain C client and server of the same protocol (peers/), on loopback, taking turns.

Every run has a network namespace of its own, whose counters say how much was really transferred: the CPU per gigabyte is
that of everything the process did, preparations included.
"""

import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PORT = 5231
SIZE = 1048576  # of the C client's chunks; our client finds its own
TICKS = os.sysconf("SC_CLK_TCK")
GIGABYTE = 1e9


class Failure(Exception):
    pass


def compile_peers(folder):
    for name in ("server", "client"):
        subprocess.run(["cc", "-O2", "-o", f"{folder}/{name}", str(HERE / f"peers/{name}.c"), "-lssl", "-lcrypto", "-lpthread"], check=True)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"], check=True, stderr=subprocess.DEVNULL)  # fmt: skip


class Namespace:
    """A network namespace with loopback, in which programs run."""

    def __enter__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "ip link set lo up && echo ready && exec sleep 600"], stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.inside = ["nsenter", "--target", str(self.holder.pid), "--net"]
        return self

    def __exit__(self, *_):
        self.holder.kill()
        self.holder.wait()

    def start(self, command, **more):
        return subprocess.Popen([*self.inside, *command], **more)

    def bytes(self):
        lines = subprocess.run([*self.inside, "cat", "/proc/net/dev"], check=True, capture_output=True, text=True).stdout
        return int(next(line for line in lines.splitlines() if line.strip().startswith("lo:")).split()[1])

    def wait_for_port(self):
        code = f"import socket; socket.create_connection(('127.0.0.1', {PORT}), 1)"
        for _ in range(200):
            if subprocess.run([*self.inside, "/usr/bin/python3", "-c", code], stderr=subprocess.DEVNULL).returncode == 0:
                return
            time.sleep(0.05)
        raise Failure("the server does not listen")


def cpu(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid, name="VmHWM"):
    return next(int(line.split()[1]) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(name)) / 1024


def run_once(server, client, shown=None):
    """Runs a client against a server. Returns its result, and the CPU seconds per gigabyte of the client and the server."""
    with Namespace() as here:
        serving = here.start(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            here.wait_for_port()
            before, server_before, client_before = here.bytes(), cpu(serving.pid), children_cpu()
            running = here.start(client, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            output, errors = running.communicate(timeout=200) if shown is None else shown(running)
            # The client is the only child that was waited for meanwhile.
            client_cpu, server_cpu = children_cpu() - client_before, cpu(serving.pid) - server_before
            if running.returncode:
                raise Failure(f"{client[0]}: {errors[-400:]}")
            gigabytes = (here.bytes() - before) / GIGABYTE
            return json.loads(output), client_cpu / gigabytes, server_cpu / gigabytes
        finally:
            serving.kill()
            serving.wait()


def rates(result):
    """The rates of both directions in Gbit/s, whoever has measured them."""
    value = lambda way: result[way]["bitsPerSecond"] if isinstance(result[way], dict) else result[way]  # noqa: E731
    return {way: value(way) / 1e9 for way in ("download", "upload")}


def children_cpu():
    usage = os.times()
    return usage.children_user + usage.children_system


def ends(program, folder, tls, threads, seconds):
    """The commands of both servers and both clients."""
    ours = [program, "speedtest", "serve", "--open", "--address", "127.0.0.1", "--port", str(PORT)]
    client = [program, "speedtest", "--no-store", "--json", "--server", f"127.0.0.1:{PORT}", "--threads", str(threads), "--seconds", str(seconds)]
    theirs = [f"{folder}/server", str(PORT)]
    c_client = [f"{folder}/client", str(PORT), str(threads), str(seconds), str(SIZE)]
    if tls:
        ours += ["--certificate", f"{folder}/certificate.pem", "--certificate-key", f"{folder}/key.pem"]
        theirs += [f"{folder}/certificate.pem", f"{folder}/key.pem"]
        client += ["--tls", "--insecure"]
        c_client += ["tls"]
    return ours, client, theirs, c_client


def compare(program, rounds, seconds, threads=3):
    """Prints the comparison; returns the bars that were missed."""
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        compile_peers(folder)
        for tls in (False, True):
            ours, client, theirs, c_client = ends(program, folder, tls, threads, seconds)
            pairs = {"C and C": (theirs, c_client), "client": (theirs, client), "server": (ours, c_client)}
            values = {name: [] for name in pairs}
            for _ in range(rounds):
                for name, pair in pairs.items():
                    result, client_cpu, server_cpu = run_once(*pair)
                    values[name].append({**rates(result), "client_cpu": client_cpu, "server_cpu": server_cpu})
            middle = lambda name, key: statistics.median(one[key] for one in values[name])  # noqa: E731
            kind = "TLS" if tls else "plain"
            for name in ("client", "server"):
                for way in ("download", "upload"):
                    share = middle(name, way) / middle("C and C", way)
                    missed += line(f"{kind}, {name}, {way}", f"{middle(name, way):.2f} Gbit/s", share, share >= 1.0, "≥ 1.0")
                share = middle(name, f"{name}_cpu") / middle("C and C", f"{name}_cpu")
                missed += line(f"{kind}, {name}, CPU", f"{middle(name, f'{name}_cpu'):.2f} s/GB", share, share <= 1.1, "≤ 1.1")
        missed += limits(program, folder, seconds)
    return missed


def line(what, value, share, is_met, bar):
    print(f"{what:28} {value:>14}  {share:5.2f} × C  bar {bar}: {'met' if is_met else 'MISSED'}", flush=True)
    return [] if is_met else [what]


def limits(program, folder, seconds):
    """The memory of our client with 64 connections, and that of our server with 1,000 idle ones, and its speed then."""
    ours, client, theirs, c_client = ends(program, folder, False, 64, seconds)
    most = [0.0]

    def watch(running):
        # Its output is read meanwhile: with the samples of so many connections it is longer than a pipe takes.
        while True:
            try:
                return running.communicate(timeout=0.05)
            except subprocess.TimeoutExpired:
                # Where it has just ended there is nothing to read.
                with contextlib.suppress(OSError, StopIteration):
                    most[0] = max(most[0], memory(running.pid))

    run_once(theirs, client, watch)
    missed = limit("memory with 64 connections", most[0], 64)
    _, _, theirs, c_client = ends(program, folder, False, 3, seconds)
    ours += ["--max-connections", "2000", "--max-per-address", "2000"]
    alone = rates(run_once(ours, c_client)[0])
    with Namespace() as here:
        serving = here.start(ours, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        idle = None
        try:
            here.wait_for_port()
            idle = here.start(["/usr/bin/python3", str(HERE / "loopback.py"), "idle"], stdout=subprocess.PIPE)
            idle.stdout.readline()
            # What the connections cost, before anything is transferred.
            missed += limit("memory with 1,000 idle connections", memory(serving.pid), 50)
            output = subprocess.run([*here.inside, *c_client], check=True, capture_output=True, text=True).stdout
            for way, rate in rates(json.loads(output)).items():
                missed += line(f"beside 1,000 idle, {way}", f"{rate:.2f} Gbit/s", rate / alone[way], rate >= 0.9 * alone[way], "≥ 0.9 of alone")
        finally:
            for one in (idle, serving):
                if one:
                    one.kill()
                    one.wait()
    return missed


def limit(what, value, bar):
    print(f"{what:36} {value:6.1f} MiB  bar ≤ {bar}: {'met' if value <= bar else 'MISSED'}", flush=True)
    return [] if value <= bar else [what]


def hold_idle_connections(count=1000):
    """Opens connections up to their commands, which they never send."""
    held = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", PORT), timeout=60)
        one.sendall(b"TOKEN none\n")
        held.append(one)
    for one in held:
        answer = b""
        while not answer.endswith(b"QUIT\n") or b"CHUNKSIZE" not in answer:
            answer += one.recv(4096)
    print("held", flush=True)
    # Idle ones are closed after 30 s.
    time.sleep(29)


if __name__ == "__main__":
    hold_idle_connections()
