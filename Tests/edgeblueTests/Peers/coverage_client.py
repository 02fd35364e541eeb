"""A client of a control server for coverage, written from the description of the protocol alone.

  coverage_client.py begin URL FILE   gets an identifier and a session, sends three pings, and writes FILE
  coverage_client.py finish URL FILE  sends the result, repeats it, and tries what must be refused

Exits with 1 at the first thing that differs from the protocol, and prints it.
"""
import base64
import http.client
import json
import socket
import struct
import sys
import time
import urllib.parse
import uuid

COMMON = {
    "platform": "ANDROID", "plattform": "ANDROID", "os_version": "15", "model": "peer", "device": "peer", "language": "de",
    "client_language": "de", "timezone": "Europe/Vienna", "name": "RMBT", "client": "RMBT", "client_name": "RMBT",
    "type": "MOBILE", "version": "0.3", "client_version": "1.2.0", "softwareVersion": "1",
    "capabilities": {"classification": {"count": 4}, "qos": {"supports_info": True}, "RMBThttp": True},
}  # fmt: skip


def check(condition, what):
    if not condition:
        sys.exit(f"differs from the protocol: {what}")


def post(url, path, body, raw=None):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    data = raw if raw is not None else json.dumps(body).encode()
    connection.request("POST", parts.path + path, data, {"Content-Type": "application/json", "Accept": "application/json"})
    reply = connection.getresponse()
    text = reply.read()
    check(reply.getheader("Content-Type", "").startswith("application/json"), f"{path}: the type of the body")
    return reply.status, json.loads(text)


def ping(grant):
    token = base64.b64decode(grant["ping_token"], validate=True)
    check(len(token) == 16, "ping_token has not 16 bytes")
    family = {4: socket.AF_INET, 6: socket.AF_INET6}[grant["ip_version"]]
    with socket.socket(family, socket.SOCK_DGRAM) as link:
        link.settimeout(30)
        link.connect((grant["ping_host"], int(grant["ping_port"])))
        # The number wraps.
        for number in (0xFFFFFFFE, 0xFFFFFFFF, 0):
            link.send(b"RP01" + struct.pack(">I", number) + token)
            check(link.recv(64) == b"RR01" + struct.pack(">I", number), "the reply to a ping")


def request(url, client, loop=None):
    body = COMMON | {
        "uuid": client, "client_uuid": client, "time": time.time_ns() // 1_000_000,
        "measurement_type_flag": "dedicated", "signal": False,
    }  # fmt: skip
    if loop:
        body["loop_uuid"] = loop
    status, grant = post(url, "/coverageRequest", body)
    check(status == 201, f"/coverageRequest: status {status}")
    check(not grant.get("error"), f"/coverageRequest: {grant.get('error')}")
    uuid.UUID(grant["test_uuid"])
    types = {
        "test_uuid": str, "loop_uuid": str, "loop_test_counter": int, "ping_token": str, "ping_host": str, "ping_port": str,
        "ip_version": int, "max_coverage_session_seconds": int, "max_coverage_measurement_seconds": int,
        "client_remote_ip": str,
    }  # fmt: skip
    for name, kind in types.items():
        check(type(grant.get(name)) is kind, f"/coverageRequest: {name} is {grant.get(name)!r}")
    return grant


def fence(number):
    return {
        "timestamp_microseconds": time.time_ns() // 1000 + number * 5_000_000,
        "location": {
            "latitude": 48.208174 + number * 0.0004, "longitude": 16.373819, "accuracy": 4.1, "altitude": 171.2,
            "bearing": 138, "speed": 1.52,
        },
        "avg_ping_ms": 10.33, "offset_ms": number * 5000, "duration_ms": 5000, "technology": "5G/NRNSA",
        "technology_id": 41, "radius": 18,
    }  # fmt: skip


def begin(url, path):
    status, reply = post(url, "/settings", COMMON | {"terms_and_conditions_accepted": True})
    check(status == 200, f"/settings: status {status}")
    client = reply["settings"][0]["uuid"]
    uuid.UUID(client)
    grant = request(url, client)
    ping(grant)
    check(grant["loop_test_counter"] == 1, "the first session of a chain")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"client": client, "test": grant["test_uuid"], "loop": grant["loop_uuid"]}, file)


def refused(url, path, body, words, expected=400, raw=None):
    status, reply = post(url, path, body, raw)
    check(status == expected, f"{path} {words}: status {status}")
    check(words in reply["error"][0], f"{path}: {reply}")


def finish(url, path):
    with open(path, encoding="utf-8") as file:
        known = json.load(file)
    body = COMMON | {
        "uuid": known["client"], "client_uuid": known["client"], "test_uuid": known["test"],
        "fences": [fence(number) for number in range(3)],
    }  # fmt: skip
    refused(url, "/coverageResult", body | {"test_uuid": str(uuid.uuid4())}, "No started test found by id")
    refused(url, "/coverageResult", body | {"client_uuid": str(uuid.uuid4())}, "No started test found by id")
    refused(url, "/coverageResult", body | {"fences": "none"}, "fences is of another type")
    refused(url, "/coverageResult", None, "not JSON", raw=b"{\"fences\":[")
    refused(url, "/coverageResult", None, "exceeds", 413, raw=b" " * (8 * 1024 * 1024 + 1))
    refused(url, "/coverageRequest", body | {"time": 1, "loop_uuid": "L" + str(uuid.uuid4())}, "Unknown loop_uuid")
    refused(url, "/elsewhere", body, "nothing here", 404)
    for attempt in ("first", "repeated"):
        check(post(url, "/coverageResult", body) == (200, {}), f"/coverageResult: {attempt}")
    refused(url, "/coverageResult", body | {"fences": []}, "No started test found by id")
    second = request(url, known["client"], known["loop"])
    check(second["loop_test_counter"] == 2 and second["loop_uuid"] == known["loop"], "the second session of a chain")
    check(post(url, "/coverageResult", body | {"test_uuid": second["test_uuid"], "fences": []}) == (200, {}), "no fences")


if __name__ == "__main__":
    {"begin": begin, "finish": finish}[sys.argv[1]](sys.argv[2], sys.argv[3])
