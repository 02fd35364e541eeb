"""Pans a page in Chromium as its reader does, and takes the time until each pan is seen.

    pan.py CHROMIUM PAGE PANS [--close] [--picture PNG]

Chromium is driven by the DevTools protocol over a pipe. The mouse is pressed on the map and moved; the time runs from the
instant of a move until the second animation frame after it, by which the browser has drawn the first one. With --close the
map is enlarged before, until the fences are circles. Prints one line: the number of drawn fences, and the milliseconds of
each pan.
"""

import argparse
import base64
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

WIDTH, HEIGHT = 1200, 800
LIMIT = 120  # seconds for each answer of the browser
# Takes the time from each move until the frame after the one in which everything was drawn.
WATCH = """
  window.pans = [];
  let moved = null;
  const drawing = draw;
  draw = () => {
    drawing();
    if (moved === null || Number(document.body.dataset.missing) > 0) { return; }
    const since = moved;
    moved = null;
    requestAnimationFrame(() => window.pans.push(performance.now() - since));
  };
  addEventListener("mousemove", event => { if (event.buttons !== 0) { moved = event.timeStamp; } }, { capture: true });
"""
# Resolves when nothing is drawn any more.
QUIET = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"


class Browser:
    """A Chromium, and the connection to the one page of it."""

    def __init__(self, program, folder):
        theirs, self.requests = os.pipe()
        self.replies, answers = os.pipe()
        # It reads from descriptor 3 and writes to 4.
        words = ["bash", "-c", f'exec "$0" "$@" 3<&{theirs} 4>&{answers}', program, "--headless", "--no-sandbox"]
        words += ["--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe"]
        words += [f"--window-size={WIDTH},{HEIGHT}", f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(
            words, pass_fds=(theirs, answers), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(answers)
        self.number, self.rest, self.session = 0, b"", None

    def close(self):
        # It has processes of its own, in the session that it got.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def messages(self):
        while True:
            while b"\0" not in self.rest:
                more = os.read(self.replies, 1 << 20)
                if not more:
                    sys.exit("Chromium has ended")
                self.rest += more
            message, self.rest = self.rest.split(b"\0", 1)
            yield json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.requests, json.dumps(request).encode() + b"\0")
        signal.alarm(LIMIT)
        for message in self.messages():
            if message.get("id") == self.number:
                signal.alarm(0)
                assert "error" not in message, message
                return message["result"]

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def open(self, page):
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Page.navigate", url=pathlib.Path(page).resolve().as_uri())
        self.value("new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))")
        self.value(QUIET)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def enlarge(self):
        """Turns the wheel over the middle of what is drawn until it shows circles."""
        for _ in range(30):
            if self.value("document.body.dataset.shows") == "circles":
                return
            self.mouse("mouseWheel", 450, 360, deltaX=0, deltaY=-120)
            # Leaflet waits for more turns before it does what they ask for.
            self.value("new Promise(done => setTimeout(done, 120))")
            self.value(QUIET)
        sys.exit("the map shows no circles")

    def pan(self, count):
        self.value(WATCH)
        x, y = 300, 300
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for number in range(count):
            # To and fro, so that the fences stay in sight; not to the beginning, which would be no pan.
            self.mouse("mouseMoved", x + 60 * (1, 2, 3, 4, 3, 2)[number % 6], y, button="left", buttons=1)
            self.value(f"new Promise(done => {{ const look = () => window.pans.length > {number} ? done() : "
                       "requestAnimationFrame(look); look(); })")  # fmt: skip
        self.mouse("mouseReleased", x, y, button="left", buttons=0, clickCount=1)
        return self.value("window.pans")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("chromium")
    parser.add_argument("page")
    parser.add_argument("pans", type=int)
    parser.add_argument("--close", action="store_true")
    parser.add_argument("--picture")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(options.chromium, folder)
        try:
            browser.open(options.page)
            if options.close:
                browser.enlarge()
            times = browser.pan(options.pans) if options.pans else []
            if options.picture:
                data = browser.call("Page.captureScreenshot", format="png")["data"]
                pathlib.Path(options.picture).write_bytes(base64.b64decode(data))
            print(browser.value("document.body.dataset.drawn"), *times)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
