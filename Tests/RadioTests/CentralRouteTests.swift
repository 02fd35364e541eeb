import Foundation
import Testing

/// The Mac role as a person runs it, with a model server and a network of its own that goes away.
extension RadioTests {
  @Suite("Routes of prompts, over the radio") struct CentralRoute {
    /// At the desk: the model server, and a client that sends each line it reads to the central and says who answered.
    /// The server never answers "stall".
    private static let desk = """
      import http.server, json, sys, threading, urllib.request
      class Model(http.server.BaseHTTPRequestHandler):
          def log_message(self, *_): pass
          def say(self, reply):
              body = json.dumps(reply).encode()
              self.send_response(200)
              self.send_header("Content-Length", str(len(body)))
              self.end_headers()
              self.wfile.write(body)
          def do_GET(self): self.say({"models": [{"name": "tiny"}]})
          def do_POST(self):
              prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["prompt"]
              if prompt == "stall":
                  print("stalled", flush=True)
                  threading.Event().wait()
              self.say({"response": "the server says " + prompt, "done": True})
      server = http.server.ThreadingHTTPServer(("127.0.0.1", 11434), Model)
      threading.Thread(target=server.serve_forever, daemon=True).start()
      def ask(path, body=None):
          with urllib.request.urlopen("http://127.0.0.1:11435" + path, body, timeout=60) as reply:
              return json.load(reply)
      def answer(prompt):
          reply = ask("/api/generate", json.dumps({"prompt": prompt, "stream": False}).encode())
          print("answer", reply["response"], "route", ask("/status")["route"], flush=True)
      for line in sys.stdin:
          threading.Thread(target=answer, args=[line.strip()], daemon=True).start()
      """

    @Test(
      "Without a network every prompt goes to the phone",
      .enabled(if: Radio.isLab, Radio.labNeeded), .enabled(if: Command.isBuilt, Command.needed),
      .timeLimit(.minutes(5)))
    func withoutANetworkEveryPromptGoesToThePhone() async throws {
      try await withNamespace("desk") {
        try await withPhone(on: Radio.phone) { _ in
          let central = try Self.start(
            Command.path, "central", "--adapter", Radio.mac, "--access", "open", "--engine", "ollama", "--json")
          _ = try await central.line(with: "\"ready\"")
          let desk = try Self.start("/usr/bin/python3", "-c", Self.desk, hasKeyboard: true)
          func answer(to prompt: String) async throws -> String {
            try await desk.type(prompt)
            return try await desk.line(with: "answer")
          }
          #expect(try await answer(to: "one") == "answer the server says one route network")

          // One that is on its way finds the phone by itself.
          try await desk.type("stall")
          _ = try await desk.line(with: "stalled")
          try await shell("ip -n desk route del default")
          #expect(try await desk.line(with: "answer") == "answer stall route bluetooth")
          #expect(try await answer(to: "two") == "answer two route bluetooth")

          try await shell("ip -n desk route add default via 192.0.2.1")
          _ = try await central.line(with: "\"network\"")
          #expect(try await answer(to: "three") == "answer the server says three route network")
          #expect(try await central.end() == 0)
        }
      }
    }

    private static func start(_ program: String..., hasKeyboard: Bool = false) throws -> Subprocess {
      try Subprocess("/usr/bin/nsenter", ["--net=/run/netns/desk"] + program, hasKeyboard: hasKeyboard)
    }
  }
}
