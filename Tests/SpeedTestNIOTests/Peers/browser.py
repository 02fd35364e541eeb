"""Measures with the server's page in Chromium, as its user does, and prints one JSON object with what the page shows.

    browser.py CHROMIUM URL [--key KEY] [--picture PNG]

Chromium is driven over its DevTools protocol. `log` in the output has what its console reports: errors of the script, and
what the page's own rules (Content-Security-Policy) have stopped.
"""

import argparse
import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.dont_write_bytecode = True
from rmbt_client import Framed  # noqa: E402

LIMIT = 120  # seconds for the whole test


class Page:
    def __init__(self, port):
        targets = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=20))
        path = next(one["webSocketDebuggerUrl"] for one in targets if one["type"] == "page").split(str(port), 1)[1]
        self.frames = Framed(socket.create_connection(("127.0.0.1", port), timeout=LIMIT), path)
        self.number, self.log = 0, []
        self.call("Log.enable")
        self.call("Runtime.enable")

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        self.frames.sock.sendall(self.frames.frame(Framed.TEXT, json.dumps(request).encode()))
        while True:
            opcode, payload = self.frames.receive()
            assert opcode == Framed.TEXT, opcode
            message = json.loads(payload)
            if message.get("method") == "Log.entryAdded":
                self.log.append(message["params"]["entry"]["text"])
            elif message.get("method") == "Runtime.exceptionThrown":
                self.log.append(json.dumps(message["params"]["exceptionDetails"])[:500])
            elif message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + LIMIT
        while not (value := self.value(expression)):
            assert time.monotonic() < end, f"{expression} did not come true"
            time.sleep(0.05)
        return value


def measure(page, options):
    page.wait("document.readyState === 'complete' && document.getElementById('start') !== null")
    if options.key:
        page.value(f"document.getElementById('key').value = {json.dumps(options.key)}")
    page.value("document.getElementById('start').click()")
    page.wait("['finished', 'failed'].includes(document.body.dataset.state)")
    if options.picture:
        picture = page.call("Page.captureScreenshot", format="png")["data"]
        with open(options.picture, "wb") as file:
            file.write(base64.b64decode(picture))
    shown = {id: page.value(f"document.getElementById('{id}').textContent") for id in ("state", "download", "upload", "ping")}
    hides = page.value("document.getElementById('keyField').hidden")
    print(json.dumps({**shown, "end": page.value("document.body.dataset.state"), "hidesKey": hides, "log": page.log}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("chromium")
    parser.add_argument("url")
    parser.add_argument("--key")
    parser.add_argument("--picture")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = subprocess.Popen(
            [options.chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--ignore-certificate-errors", "--remote-debugging-port=0", "--remote-allow-origins=*",
             f"--user-data-dir={folder}", options.url],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True)  # fmt: skip
        try:
            port = None
            for line in browser.stderr:
                if found := re.search(r"DevTools listening on ws://127\.0\.0\.1:(\d+)/", line):
                    port = int(found[1])
                    break
            assert port, "Chromium did not start"
            measure(Page(port), options)
        finally:
            # It has processes of its own, in the session that it got.
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()


if __name__ == "__main__":
    main()
