extension BrowserPage {
  /// The script of the page: the phases of a test over WebSockets, and their display.
  ///
  /// It is text of a page and not of the program, so that its rules are those of JavaScript.
  static let script = lineScript + phaseScript + displayScript

  /// A connection: messages in order, each with the instant of its arrival.
  private static let lineScript = #"""

    "use strict";
    const scheme = location.protocol === "https:" ? "wss://" : "ws://";
    const COMMANDS = "ACCEPT GETCHUNKS GETTIME PUT PUTNORESULT PING QUIT";

    class Line {
      constructor(socket) {
        this.socket = socket;
        this.messages = [];
        this.waiting = null;
        socket.binaryType = "arraybuffer";
        socket.onmessage = event => this.arrived({ data: event.data, at: performance.now() });
        socket.onclose = () => this.arrived({ data: null, at: performance.now() });
      }

      arrived(message) {
        if (this.waiting) {
          const { resolve } = this.waiting;
          this.waiting = null;
          resolve(message);
        } else {
          this.messages.push(message);
        }
      }

      async next() {
        const message = this.messages.shift() ?? await new Promise(resolve => { this.waiting = { resolve }; });
        if (message.data === null) throw new Error("The server closed the connection.");
        return message;
      }

      // Returns the rest of a line that begins with a word.
      async expect(word) {
        const { data, at } = await this.next();
        if (typeof data !== "string" || !data.startsWith(word)) {
          throw new Error(data === "ERR\n" ? "The server refused." : "The server sent something unexpected.");
        }
        return { rest: data.slice(word.length).trim(), at };
      }

      say(text) { this.socket.send(text + "\n"); }

      static async open(token) {
        const line = new Line(new WebSocket(scheme + location.host + "/rmbt"));
        await line.expect("RMBTv");
        await line.expect("ACCEPT TOKEN");
        line.say("TOKEN " + token);
        try {
          await line.expect("OK");
        } catch {
          throw new Error("The server does not accept the key.");
        }
        await line.expect("CHUNKSIZE");
        await line.expect(COMMANDS);
        return line;
      }

      // Returns the bytes and their instants since `start`, in ns, up to the last chunk.
      async download(command, size, start, progress = () => {}) {
        this.say(command);
        const samples = [];
        let bytes = 0;
        for (let isLast = false; !isLast;) {
          const { data, at } = await this.next();
          if (typeof data === "string") throw new Error("The server refused " + command + ".");
          bytes += data.byteLength;
          progress(data.byteLength);
          isLast = bytes % size === 0 && new Uint8Array(data)[data.byteLength - 1] === 0xff;
          const time = 1e6 * (at - start);
          if (isLast || !samples.length || time - samples[samples.length - 1][0] >= 5e6) samples.push([time, bytes]);
        }
        this.say("OK");
        const time = Number((await this.expect("TIME")).rest);
        await this.expect(COMMANDS);
        return { samples, time };
      }

      async ping() {
        const start = performance.now();
        this.say("PING");
        const { at } = await this.expect("PONG");
        this.say("OK");
        const server = Number((await this.expect("TIME")).rest);
        await this.expect(COMMANDS);
        return { client: 1e6 * (at - start), server };
      }

      close() {
        this.socket.onclose = null;
        this.socket.close();
      }
    }

    """#

  /// The phases and the formula, as other clients have them.
  private static let phaseScript = #"""
    const POOL = new Uint8Array(1 << 21);
    for (let i = 0; i < POOL.length; i += 65536) crypto.getRandomValues(POOL.subarray(i, i + 65536));
    // A browser copies each message.
    const LARGEST = 1 << 20;
    const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
    const median = values => {
      const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;
      return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    };

    // The rate up to the instant at which the first connection ended, in bits per second.
    function rate(threads) {
      const end = Math.min(...threads.map(samples => samples[samples.length - 1][0]));
      const bytes = threads.reduce((sum, samples) => {
        const i = samples.findIndex(([time]) => time >= end);
        const [t0, b0] = i > 0 ? samples[i - 1] : [0, 0];
        const [t1, b1] = samples[i];
        return sum + b0 + (t1 > t0 ? (end - t0) / (t1 - t0) * (b1 - b0) : 0);
      }, 0);
      return 8e9 * bytes / end;
    }

    // Grows the chunks until the time has passed; returns the size of the last step and its rate in bytes per second.
    async function pretest(line, milliseconds, step) {
      const start = performance.now();
      let count = 1, size = 4096, last;
      do {
        const begin = performance.now();
        await step(line, count, size);
        last = { count, size, rate: 1000 * count * size / Math.max(performance.now() - begin, 0.05) };
        if (count < 8) count *= 2; else if (size < LARGEST) size *= 2;
      } while (performance.now() - start < milliseconds);
      return last;
    }

    const fetchChunks = (line, count, size) =>
      line.download(`GETCHUNKS ${count} ${size}`, size, performance.now());

    function chunk(line, size, isLast) {
      const from = (line.turn = ((line.turn ?? 0) + size) % (POOL.length - size + 1));
      const bytes = POOL.subarray(from, from + size);
      bytes[size - 1] = isLast ? 0xff : 0;
      line.socket.send(bytes);
    }

    async function sendChunks(line, count, size) {
      line.say(`PUTNORESULT ${size}`);
      await line.expect("OK");
      for (let i = 1; i <= count; i += 1) chunk(line, size, i === count);
      await line.expect("TIME");
      await line.expect(COMMANDS);
    }

    // Sends for some seconds; returns what the server reported.
    async function upload(line, size, perSecond, seconds, progress) {
      line.say(`PUT ${size}`);
      await line.expect("OK");
      const samples = [];
      let isOver = false;
      const reports = (async () => {
        for (;;) {
          const words = (await line.expect("TIME")).rest.split(" ").map(Number);
          if (words.length < 3) break;
          progress(words[2] - (samples.length ? samples[samples.length - 1][1] : 0));
          samples.push([words[0], words[2]]);
        }
        isOver = true;
        await line.expect(COMMANDS);
      })();
      const start = performance.now();
      // What a browser has buffered is sent after the end: no more than a twentieth of a second.
      const buffered = Math.max(perSecond / 20, 2 * size);
      while (performance.now() - start < 1000 * seconds) {
        while (line.socket.bufferedAmount < buffered) chunk(line, size, false);
        await pause(0);
        if (line.socket.readyState !== WebSocket.OPEN) break;
      }
      chunk(line, size, true);
      await Promise.race([reports, pause(3000)]);
      if (!isOver) line.close();
      return samples;
    }

    async function measure(token, threads, seconds, show) {
      const short = Math.min(2000, 1000 * seconds);
      let lines = [];
      try {
        show.phase("Connecting …", 0.02);
        lines = await Promise.all(Array.from({ length: threads }, () => Line.open(token)));
        show.phase("Download, preparation …", 0.1);
        let steps = await Promise.all(lines.map(line => pretest(line, short, fetchChunks)));
        // A slow line measures better with one connection.
        if (median(steps.map(step => step.size > 4096 ? 8 : step.count)) <= 4) lines.splice(1).forEach(line => line.close());
        show.phase("Ping …", 0.2);
        const pings = [], first = performance.now();
        while (pings.length < 200 && (pings.length < 10 || performance.now() - first < 1000)) pings.push(await lines[0].ping());
        const times = pings.map(ping => ping.server);
        const jitter = times.slice(1).reduce((sum, time, i) => sum + Math.abs(time - times[i]), 0) / (times.length - 1);
        show.ping(median(times), jitter, times.length);
        let size = Math.min(...steps.map(step => step.size));
        show.phase("Download …", 0.3, seconds);
        const begin = performance.now();
        const down = await Promise.all(
          lines.map(line => line.download(`GETTIME ${seconds} ${size}`, size, begin, show.transferred)));
        show.rate("download", rate(down.map(each => each.samples)));
        show.phase("Upload, preparation …", 0.6);
        steps = await Promise.all(lines.map(line => pretest(line, short, sendChunks)));
        size = Math.min(...steps.map(step => step.size), LARGEST >> 2);
        show.phase("Upload …", 0.7, seconds);
        const up = await Promise.all(
          lines.map((line, i) => upload(line, size, steps[i].rate, seconds, show.transferred)));
        if (up.some(samples => !samples.length)) throw new Error("The server reported nothing.");
        show.rate("upload", rate(up));
        lines.filter(line => line.socket.readyState === WebSocket.OPEN).forEach(line => line.say("QUIT"));
      } finally {
        lines.forEach(line => line.close());
      }
    }

    """#

  /// The display, and the token of a key.
  private static let displayScript = #"""
    const element = id => document.getElementById(id);
    const digits = value => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);

    class Display {
      constructor() {
        this.bytes = 0;
        for (const name of ["phase", "rate", "ping", "transferred"]) this[name] = this[name].bind(this);
        this.timer = setInterval(() => this.tick(), 250);
      }

      phase(text, share, seconds = 0) {
        this.text = text;
        this.share = share;
        this.seconds = seconds;
        this.start = performance.now();
        this.bytes = 0;
        this.tick();
      }

      transferred(bytes) { this.bytes += bytes; }

      tick() {
        const elapsed = (performance.now() - this.start) / 1000;
        element("bar").value = this.share + (this.seconds ? 0.3 * Math.min(elapsed / this.seconds, 1) : 0);
        const now = this.seconds && elapsed > 0.2 ? ` ${digits(8 * this.bytes / elapsed / 1e6)} Mbit/s` : "";
        element("state").textContent = this.text + now;
      }

      rate(id, value) {
        const strong = document.createElement("strong");
        strong.textContent = digits(value / 1e6);
        element(id).replaceChildren(strong, " Mbit/s");
      }

      ping(time, jitter, count) {
        const strong = document.createElement("strong");
        strong.textContent = digits(time / 1e6);
        element("ping").replaceChildren(strong, ` ms, jitter ${digits(jitter / 1e6)} ms, ${count} round trips`);
      }

      end(text, state) {
        clearInterval(this.timer);
        element("state").textContent = text;
        element("bar").hidden = true;
        element("start").disabled = false;
        document.body.dataset.state = state;
      }
    }

    const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");

    async function makeToken() {
      const random = hex(crypto.getRandomValues(new Uint8Array(16)));
      const uuid = random.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
      if (element("keyField").hidden) return uuid;
      if (!crypto.subtle) throw new Error("A browser uses a key only over https, or on the server's own machine.");
      const bytes = text => new TextEncoder().encode(text), head = `${uuid}_${Math.floor(Date.now() / 1000)}`;
      const name = { name: "HMAC", hash: "SHA-1" };
      const key = await crypto.subtle.importKey("raw", bytes(element("key").value), name, false, ["sign"]);
      const code = new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes(head)));
      return `${head}_${btoa(String.fromCharCode(...code))}`;
    }

    async function run() {
      const settings = new URLSearchParams(location.hash.slice(1));
      const setting = (name, usual, most) => Math.min(Math.max(parseInt(settings.get(name), 10) || usual, 1), most);
      element("start").disabled = true;
      element("table").hidden = element("bar").hidden = false;
      for (const id of ["download", "upload", "ping"]) element(id).textContent = "";
      document.body.dataset.state = "running";
      const display = new Display();
      display.phase("Connecting …", 0);
      try {
        await measure(await makeToken(), setting("threads", 3, 16), setting("seconds", 7, 30), display);
        display.end("Finished.", "finished");
      } catch (error) {
        display.end(error.message, "failed");
      }
    }

    element("form").addEventListener("submit", event => {
      event.preventDefault();
      run();
    });
    if (new URLSearchParams(location.hash.slice(1)).has("start")) run();

    """#
}
