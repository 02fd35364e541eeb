import BlueZTesting
import EdgeCoderHTTP
import Foundation
import SystemTesting
import Testing

@testable import edgeblue

@Suite(
  "A central without Bluetooth", .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: ChildProcess.path(of: "python3") != nil, "needs python3"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct CentralTests {
  /// A model server that repeats the prompt, and prints its port.
  private static let model = """
    import http.server, json
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
            self.say({"response": "the server says " + prompt, "done": True})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    print(server.server_address[1], flush=True)
    server.serve_forever()
    """

  @Test("With a model server it starts without a bus, answers, and finds the adapter when it comes")
  func theRadioComesLater() async throws {
    let model = try ChildProcess("python3", ["-c", Self.model])
    let folder = try TemporaryPlace()
    let bus = folder.path + "/bus"
    let central = try ChildProcess(
      program,
      [
        "central", "--json", "--port", "0", "--engine", "ollama", "--state", folder.path + "/state",
        "--engine-url", "http://127.0.0.1:\(try await model.firstLine())",
      ], environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(bus)"])
    let before = try await central.events(until: ["noBluetooth", "serving", "route"])
    let port = try #require(before.compactMap { $0["port"] as? Int }.first)
    #expect(before.contains { ($0["reason"] as? String)?.isEmpty == false })

    let client = CentralClient(url: "http://127.0.0.1:\(port)")
    // Without a default route the model server is not used; with one it may be found at any moment.
    let route = await client.status().route
    do {
      #expect(try await client.generate(prompt: "hello", maxTokens: nil).answer.text == "the server says hello")
      #expect(await client.status().route == .network)
    } catch {
      #expect(route != .network)
      #expect("\(error)".contains("no phone can be reached"))
    }
    let lab = try await FakeBlueZ.start(adapters: 1)
    guard case .address(let address) = lab.bus else { throw MissingProgram("a message bus") }
    try FileManager.default.createSymbolicLink(
      atPath: bus, withDestinationPath: String(address.dropFirst("unix:path=".count)))
    _ = try await central.events(until: ["access", "scanning"])
    #expect(await client.status().scanning)
    central.signal(SIGTERM)
    #expect(await central.wait() == 0)
    try await lab.stop()
  }

  @Test("Without a model server it fails at once without a bus") func nothingCouldAnswer() async throws {
    let folder = try TemporaryPlace()
    let outcome = try await ChildProcess(
      program, ["central", "--port", "0", "--state", folder.path + "/state"],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder.path)/bus"], errors: .kept
    ).outcome()
    #expect(outcome.status == ExitStatus.unavailable.rawValue)
    #expect(!outcome.output.contains("serving"))
  }
}

/// A folder that is removed with the last reference to this object.
private final class TemporaryPlace: Sendable {
  let path = FileManager.default.temporaryDirectory.appending(path: "central-\(UUID().uuidString.prefix(8))").path

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

  // A folder that cannot be removed is left to the system.
  deinit { try? FileManager.default.removeItem(atPath: path) }
}

extension ChildProcess {
  /// Reads the events that the program prints, until there was one of each name.
  fileprivate func events(until names: Set<String>) async throws -> [[String: Any]] {
    var missing = names
    var events: [[String: Any]] = []
    while !missing.isEmpty {
      let line = try await firstLine()
      guard let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else { continue }
      if let name = event["event"] as? String { missing.remove(name) }
      events.append(event)
    }
    return events
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
