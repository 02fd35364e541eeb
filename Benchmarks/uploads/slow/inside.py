"""The part of the benchmark of a slow line that runs in the lab's guest: one tool, one line, one transfer.

    inside.py TOOL CONTROL    what to run is in the environment; prints one JSON object

Three namespaces: the client's, a router's and the server's. Each way the line takes its time for a packet before the
router may lose it, so that a lost one costs the line what an arrived one does.
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse

TOOL, CONTROL = sys.argv[1:3]
EDGEBLUE, WEED, RCLONE, PYTHON = (os.environ[f"SLOW_{name}"] for name in ("EDGEBLUE", "WEED", "RCLONE", "PYTHON"))
RATE, TRIP_MS, LOSS, QUEUE, PATIENCE = (
    int(os.environ[f"SLOW_{name}"]) for name in ("RATE", "TRIP_MS", "LOSS", "QUEUE", "PATIENCE"))
SIZES = [int(size) for size in os.environ["SLOW_SIZES"].split(",")]
HERE = pathlib.Path(__file__).resolve().parent
WORK = pathlib.Path(tempfile.mkdtemp(prefix="slow-"))
SERVER, PORT = "10.9.1.2", 8333
KEY, SECRET, BUCKET = "BENCH", "the secret of the benchmark", "bench"


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, text=True, **more)


def inside(place, *words):
    return ["ip", "netns", "exec", place, *[str(word) for word in words]]


def lay_the_line():
    for place in ("client", "router", "server"):
        run("ip", "netns", "add", place)
        run(*inside(place, "ip", "link", "set", "lo", "up"))
    cables = [("client", "c0", "10.9.0.2", "router", "r0", "10.9.0.1"), ("router", "r1", "10.9.1.1", "server", "s0", SERVER)]
    for place, near, address, other, far, far_address in cables:
        run("ip", "link", "add", near, "netns", place, "type", "veth", "peer", "name", far, "netns", other)
        for where, name, own in ((place, near, address), (other, far, far_address)):
            run(*inside(where, "ip", "address", "add", f"{own}/24", "dev", name))
            # A packet at a time: netem would lose sixty at once, and let them pass the line together.
            run(*inside(where, "ip", "link", "set", name, "up", "gso_max_segs", 1))
    run(*inside("router", "sysctl", "-qw", "net.ipv4.ip_forward=1"))
    run(*inside("client", "ip", "route", "add", "default", "via", "10.9.0.1"))
    run(*inside("server", "ip", "route", "add", "default", "via", "10.9.1.1"))
    line = ["delay", f"{TRIP_MS // 2}ms", "rate", f"{RATE}bit", "limit", QUEUE]
    for place, name, what in (
        ("client", "c0", line), ("server", "s0", line), ("router", "r1", ["loss", f"{LOSS}%"]),
        ("router", "r0", ["loss", f"{LOSS}%"])):  # fmt: skip
        run(*inside(place, "tc", "qdisc", "add", "dev", name, "root", "netem", *what))


def serve():
    """SeaweedFS in a folder of its own."""
    folder = WORK / "server"
    folder.mkdir()
    identity = {"name": "bench", "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
                "actions": ["Admin", "Read", "Write", "List"]}  # fmt: skip
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}), encoding="utf-8")
    words = [WEED, "mini", f"-dir={folder}", f"-ip={SERVER}", f"-ip.bind={SERVER}", "-admin.ui=false", "-webdav=false"]
    words += [f"-s3.port={PORT}", "-s3.port.iceberg=0", f"-s3.config={folder}/s3.json", "-s3.autoCreateBucket=false"]
    words += [f"-bucket={BUCKET}"]
    with open("/lab/weed.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(inside("server", *words), cwd=folder, stdout=log, stderr=log)
    limit = time.monotonic() + 240
    while subprocess.run(inside("server", *rclone("lsf", f"weed:{BUCKET}")), capture_output=True, check=False).returncode:
        if time.monotonic() > limit or process.poll() is not None:
            raise SystemExit("SeaweedFS does not come up")
        time.sleep(0.5)


def rclone(*words):
    settings = WORK / "rclone.conf"
    if not settings.exists():
        settings.write_text(
            f"[weed]\ntype = s3\nprovider = SeaweedFS\nenv_auth = false\naccess_key_id = {KEY}\n"
            f"secret_access_key = {SECRET}\nendpoint = http://{SERVER}:{PORT}\nno_check_bucket = true\n",
            encoding="utf-8")  # fmt: skip
    return [RCLONE, "--config", str(settings), *words]


def command(files):
    endpoint = f"http://{SERVER}:{PORT}"
    if TOOL == "edgeblue":
        words = [EDGEBLUE, "upload", *files, "--bucket", BUCKET, "--prefix", "files/", "--endpoint", endpoint]
        return words + ["--insecure", "--state", WORK / "state", "--json"]
    if TOOL == "rclone":
        return rclone("copy", str(WORK / "files"), f"weed:{BUCKET}/files")
    return [PYTHON, HERE / "boto.py", endpoint, BUCKET, *files]


def sent():
    """Bytes that the line has carried from the client."""
    text = run(*inside("client", "tc", "-s", "qdisc", "show", "dev", "c0"), capture_output=True).stdout
    return int(re.search(r"Sent (\d+) bytes", text)[1])


def stored(sums):
    """How many files the server has with their right bytes."""
    count = 0
    for name, digest in sums.items():
        key = urllib.parse.quote(f"files/{name}")
        got = subprocess.run(inside("server", *rclone("cat", f"weed:{BUCKET}/{key}")), capture_output=True, check=False)
        count += hashlib.sha256(got.stdout).hexdigest() == digest
    return count


def main():
    (WORK / "files").mkdir()
    sums, files = {}, []
    for number, size in enumerate(SIZES):
        data = os.urandom(size)
        name = f"{number:02}.wav"
        (WORK / "files" / name).write_bytes(data)
        sums[name] = hashlib.sha256(data).hexdigest()
        files.append(WORK / "files" / name)
    if CONTROL != "bbr":
        run("rmmod", "tcp_bbr")
    lay_the_line()
    run(*inside("client", "sysctl", "-qw", f"net.ipv4.tcp_congestion_control={CONTROL}"))
    serve()
    environment = dict(
        os.environ, AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET, AWS_DEFAULT_REGION="us-east-1", HOME=str(WORK),
        AWS_CONFIG_FILE="/dev/null", AWS_EC2_METADATA_DISABLED="true")  # fmt: skip
    before, begin = sent(), time.monotonic()
    with open("/lab/tool.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(inside("client", *command(files)), stdout=log, stderr=log, env=environment)
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            status = None
            process.kill()
    seconds = time.monotonic() - begin
    carried = sent() - before
    print(json.dumps({"tool": TOOL, "control": CONTROL, "seconds": seconds, "status": status, "bytes": carried,
                      "stored": stored(sums)}), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
