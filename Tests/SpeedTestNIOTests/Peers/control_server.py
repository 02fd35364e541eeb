"""A control server, written from the description of its JSON API alone, for the client's tests.

    control_server.py --measurement PORT [--fault NAME] [--terms] [--log FILE] [--state FILE]

It prints its port on the first line. The tokens it grants are for an open measurement server at 127.0.0.1:PORT. --fault
names one thing that it does wrong, or that the network does. --terms assigns an identifier only to who has accepted the
terms. --log gets a line of JSON for each request, with its path and its body. --state keeps the tests over a restart.
"""

import argparse
import base64
import hashlib
import hmac
import http.server
import json
import os
import re
import threading
import time
import uuid
import zoneinfo

ROOT = "/RMBTControlServer"
PLATFORMS = {"ANDROID", "IOS", "CLI", "WINDOWS", "DARWIN", "LINUX"}
TYPES = {"MOBILE", "DESKTOP"}
FLAGS = {"regular", "dedicated", "loop_active", "loop_waiting"}
STATUSES = {"NONE", "ABORTED", "ERROR", "ERROR_FETCH", "ERROR_SUBMIT", "ABORTED_BACKGROUNDED", "END"}


class Refused(Exception):
    """The request is refused with status 400."""


def expect(holds, reason):
    if not holds:
        raise Refused(reason)


class State:
    """The clients and the tests, in memory and in a file."""

    def __init__(self, path):
        self.path, self.lock = path, threading.RLock()
        self.clients, self.tests = [], {}
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.clients, self.tests = json.load(file)

    def save(self):
        if self.path:
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                json.dump([self.clients, self.tests], file)
            os.replace(self.path + ".new", self.path)


def check_common(body):
    expect(body.get("platform") in PLATFORMS and body.get("plattform") == body.get("platform"), "platform")
    expect(body.get("type") in TYPES, "type")
    expect(body.get("client") == "RMBT" and body.get("client_name") == "RMBT", "client")
    expect(body.get("version") == "0.3", "version")
    expect(isinstance(body.get("softwareVersionCode"), int), "softwareVersionCode")
    expect(isinstance(body.get("language"), str) and len(body["language"]) == 2, "language")
    zones = zoneinfo.available_timezones()
    expect(not zones or body.get("timezone") in zones, f"timezone {body.get('timezone')}")
    capabilities = body.get("capabilities")
    expect(capabilities == {"classification": {"count": 4}, "qos": {"supports_info": True}, "RMBThttp": True}, "capabilities")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def fault(self, name):
        return self.server.options.fault == name

    def reply(self, status, value, raw=None):
        data = raw if raw is not None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        path = self.path.removeprefix(ROOT)
        try:
            body = json.loads(data)
            self.server.note(path, body)
            expect(self.headers["Accept"] == "application/json", "Accept")
            expect(self.headers["Accept-Language"], "Accept-Language")
            routes = {
                "/settings": self.settings, "/testRequest": self.test_request, "/result": self.result,
                "/ip": self.ip, "/qosTestRequest": self.qos_request, "/resultQoS": self.qos_result,
                "/qosTestResult": self.qos_evaluation,
            }
            if path not in routes:
                return self.reply(404, {"error": ["no such path"]})
            if self.strange(path):
                return None
            with self.server.state.lock:
                value = routes[path](body)
                self.server.state.save()
            if self.lost(path):
                return None
            return self.reply(200, value)
        except Refused as refusal:
            return self.reply(400, {"error": [str(refusal)]})

    def strange(self, path):
        """Replies that no control server means; each to the request for a test, or to the result."""
        name = self.server.options.fault or ""
        if not name.startswith(("test-", "result-")) or not path.startswith("/" + name.split("-")[0]):
            return False
        kind = name.split("-", 1)[1]
        if kind == "silent":
            time.sleep(60)
        elif kind == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            for _ in range(600):
                self.wfile.write(b" ")
                time.sleep(0.1)
        elif kind == "endless":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            while True:
                self.wfile.write(b"{" * 65536)
        elif kind == "html":
            self.reply(200, None, b"<html>Log in to the hotel</html>")
        elif kind == "deep":
            self.reply(200, None, b"[" * 100000 + b"]" * 100000)
        elif kind == "list":
            self.reply(200, [])
        elif kind == "bytes":
            self.reply(200, None, os.urandom(1000))
        elif kind == "hangup":
            self.close_connection = True
        elif kind == "500":
            self.reply(500, {"error": ["ERROR_DB_CONNECTION"]})
        elif kind == "redirect":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:9/")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            return False
        return True

    def lost(self, path):
        """Whether the reply to a request that was carried out is lost, the first time."""
        if self.server.options.fault == "lost" + path.replace("/", "-") and not self.server.has_lost:
            self.server.has_lost = True
            self.close_connection = True
            return True
        return False

    # Routes

    def settings(self, body):
        check_common(body)
        client = body.get("uuid")
        if client not in self.server.state.clients:
            client = str(uuid.uuid4())
            if not self.server.options.terms or body.get("terms_and_conditions_accepted_version") == 6:
                self.server.state.clients.append(client)
            else:
                client = None
        here = f"http://127.0.0.1:{self.server.server_address[1]}"
        settings = {
            "terms_and_conditions": {"version": "6", "url": here + "/terms"},
            "urls": {"url_ipv4_check": here + ROOT + "/ip", "url_ipv6_check": "http://[::1]:9/ip", "control_ipv4_only": "x"},
            "history": {"devices": [], "networks": []}, "versions": {"control_server_version": "1.2.3"},
        }
        if client:
            settings["uuid"] = client
        return {"settings": [settings], "error": []}

    def test_request(self, body):
        check_common(body)
        expect(body.get("uuid") in self.server.state.clients, "unknown client")
        expect(body.get("measurement_type_flag") in FLAGS, "measurement_type_flag")
        expect(body.get("previousTestStatus") in STATUSES, "previousTestStatus")
        expect(isinstance(body.get("time"), int) and isinstance(body.get("testCounter"), int), "time")
        expect(isinstance(body.get("user_loop_mode"), bool) and body.get("ndt") is False, "user_loop_mode")
        loop = body.get("loopmode_info")
        expect((loop is not None) == body["user_loop_mode"], "loopmode_info")
        if loop:
            expect(body["measurement_type_flag"] == "loop_active", "measurement_type_flag")
            expect(str(uuid.UUID(loop["loop_uuid"])) == loop["loop_uuid"], "loop_uuid")
            expect(1 <= loop["test_counter"] <= loop["max_tests"] and loop["max_delay"] >= 1, "loopmode_info")
        expect(body.get("num_threads") is None or 1 <= body["num_threads"] <= 9, "num_threads")
        if self.fault("error-in-200"):
            return {"error": ["No server is free"]}
        if self.fault("missing"):
            return {"error": [], "test_uuid": str(uuid.uuid4())}
        test, open_test = str(uuid.uuid4()), str(uuid.uuid4())
        head = f"{open_test}_{int(time.time())}"
        code = base64.b64encode(hmac.new(b"topsecret", head.encode(), hashlib.sha1).digest()).decode()
        token = f"{head}_{code}"
        if self.fault("newline-in-token"):
            token += "\nQUIT"
        here = f"http://127.0.0.1:{self.server.server_address[1]}{ROOT}"
        self.server.state.tests[test] = {
            "token": token, "client": body["uuid"], "status": "STARTED", "results": 0, "qos": [],
        }
        return {
            "test_token": token, "test_uuid": test, "open_test_uuid": "O" + open_test, "loop_uuid": "L" + str(uuid.uuid4()),
            "test_server_address": "127.0.0.1", "test_server_port": str(self.server.options.measurement),
            "test_server_name": "Python", "test_server_type": "RMBT", "test_server_encryption": False,
            "test_duration": "1", "test_numthreads": "2", "test_numpings": "12", "test_wait": 0,
            "client_remote_ip": self.client_address[0], "provider": "Loopback", "result_url": here + "/result",
            "result_qos_url": here + "/resultQoS", "error": [],
        }

    def find(self, body):
        tests = self.server.state.tests.values()
        test = next((test for test in tests if test["token"] == body.get("test_token")), None)
        expect(test, "No test found")
        expect(body.get("client_uuid") == test["client"], "client_uuid")
        return test

    def result(self, body):
        check_common(body)
        test = self.find(body)
        expect(test["status"] == "STARTED", "Invalid test status: expected STARTED but was FINISHED")
        for direction in ("download", "upload"):
            expect(0 < body.get(f"test_speed_{direction}", 0) < 800000000, f"{direction.title()} invalid")
            seconds, count = body[f"test_nsec_{direction}"] / 1e9, body[f"test_bytes_{direction}"]
            rate = count * 8 / seconds / 1000
            expect(abs(rate - body[f"test_speed_{direction}"]) <= max(2, rate / 1000), f"{direction} rate {rate}")
            expect(body[f"test_total_bytes_{direction}"] >= count - 1, f"{direction} total")
            samples = [item for item in body["speed_detail"] if item["direction"] == direction]
            expect({item["thread"] for item in samples} <= {0, 1} and samples, f"{direction} samples")
        expect(0 < body.get("test_ping_shortest", 0) < 60e9, "Ping invalid")
        expect(len(body["pings"]) >= 10, "pings")
        expect(all(0 < item["value_server"] and item["time_ns"] > 0 for item in body["pings"]), "pings")
        expect(0 < body["time_dl_ns"] < body["time_ul_ns"], "time_dl_ns")
        expect(body.get("network_type", -1) >= 0, "Illegal network_type")
        expect(body["test_ip_server"] == "127.0.0.1" and body["test_ip_local"] == "127.0.0.1", "test_ip")
        expect(body["test_port_remote"] == self.server.options.measurement, "test_port_remote")
        expect(body.get("test_status") == "0" and body.get("last_client_status") == "SPEEDTEST_END", "test_status")
        if self.fault("refuses-result"):
            raise Refused("Download invalid")
        test["status"] = "FINISHED"
        test["results"] += 1
        return {"error": []}

    def ip(self, body):
        check_common(body)
        return {"v": "4", "ip": self.client_address[0]}

    def qos_request(self, body):
        check_common(body)
        expect(body.get("clientUuid") in self.server.state.clients, "clientUuid")
        objectives = {}
        if self.server.options.objectives:
            with open(self.server.options.objectives, encoding="utf-8") as file:
                objectives = json.load(file)
        return {"objectives": objectives, "test_duration": "1", "error": []}

    def qos_result(self, body):
        test = self.find(body)
        for item in body["qos_result"]:
            expect(re.fullmatch("[a-z_]+", item["test_type"]), "test_type")
            expect(isinstance(item["qos_test_uid"], int) and item["duration_ns"] >= 0, "qos_test_uid")
        test["qos"].extend(body["qos_result"])
        return {"error": []}

    def qos_evaluation(self, body):
        test = self.server.state.tests.get(body.get("test_uuid"))
        expect(test, "unknown test")
        return {"testresultdetail": test["qos"], "error": []}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, options):
        super().__init__(("127.0.0.1", options.port), Handler)
        self.options, self.state, self.has_lost = options, State(options.state), False

    def note(self, path, body):
        if self.options.log:
            with open(self.options.log, "a", encoding="utf-8") as file:
                file.write(json.dumps({"path": path, "body": body}) + "\n")

    def handle_error(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--measurement", type=int, default=9)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--terms", action="store_true")
    for name in ("fault", "log", "state", "objectives"):
        parser.add_argument(f"--{name}")
    server = Server(parser.parse_args())
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
