import Foundation
import SystemTesting
import Testing

@testable import edgeblue

/// A program of another user that has taken the port of the central.
@Suite("Who has the central's port", .timeLimit(.minutes(5))) struct PortAttacks {
  @Test("Of the kernel's list those count who accept connections to 127.0.0.1")
  func listsAreRead() {
    let list = """
        sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
         0: 0100007F:2CAB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0
         1: 00000000:2CAB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 2 1 0
         2: 0501A8C0:2CAB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1002        0 3 1 0
         3: 0100007F:2CAC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1003        0 4 1 0
         4: 0100007F:2CAB 0100007F:C000 01 00000000:00000000 00:00000000 00000000  1004        0 5 1 0
         5: 00000000000000000000000000000000:2CAB 00000000000000000000000000000000:0000 0A 0:0 0:0 0  1005        0 6 1 0
         6: 0000000000000000FFFF00000100007F:2CAB 00000000000000000000000000000000:0000 0A 0:0 0:0 0  1006        0 7 1 0
         7: 00000000000000000000000001000000:2CAB 00000000000000000000000000000000:0000 0A 0:0 0:0 0  1007        0 8 1 0
        malformed
      """
    #expect(PortOwners.listening(at: 11435, in: list) == [1000, 1001, 1005, 1006])
    #expect(PortOwners.listening(at: 11437, in: list).isEmpty)
  }

  @Test("A port is trusted if root and the user alone listen there")
  func trustedOwners() {
    #expect(PortOwners.areTrusted([1000], user: 1000))
    #expect(PortOwners.areTrusted([0], user: 1000))
    #expect(!PortOwners.areTrusted([1000, 1001], user: 1000))
    #expect(!PortOwners.areTrusted([1001], user: 0))
    #expect(!PortOwners.areTrusted([], user: 0))
  }

  /// In a network namespace of its own, because the port is always the same. Root's server gets the prompt, which shows
  /// that it would have arrived.
  @Test(
    "A prompt without --central-url goes to no program of another user", .enabled(if: isPossible, "needs root"),
    arguments: [(true, 0), (false, 1)])
  func othersReceiveNothing(isOthers: Bool, prompts: Int) async throws {
    let script = """
      ip link set lo up
      : >"$4"
      if [ "$3" = true ]; then set -- "$1" "$2" "$3" "$4" setpriv --reuid=65534 --regid=65534 --clear-groups --; fi
      program=$1 code=$2 log=$4; shift 4
      "$@" /usr/bin/python3 -c "$code" >"$log" &
      until grep -q ready "$log"; do kill -0 $! || exit 9; sleep 0.1; done
      "$program" ask "for my central alone"; status=$?
      kill $!
      exit $status
      """
    let log = FileManager.default.temporaryDirectory.path + "/edgeblue-port-\(UUID().uuidString.prefix(8))"
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: log) } }
    let asking = try ChildProcess(
      "unshare", ["--net", "sh", "-c", script, "sh", program, server, "\(isOthers)", log],
      environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"],
      errors: .kept)
    let outcome = await asking.outcome()
    let received = try String(contentsOfFile: log, encoding: .utf8)
    #expect(received.contains("for my central alone") == (prompts > 0), "\(outcome)")
    #expect((outcome.status == 0) == (prompts > 0), "\(outcome)")
    #expect(outcome.errors.contains("belongs to another user") == isOthers, "\(outcome)")
  }
}

/// A server that answers as a central does, and prints what it is asked.
private let server = """
  import http.server, json
  class Handler(http.server.BaseHTTPRequestHandler):
      def answer(self, value):
          body = json.dumps(value).encode()
          self.send_response(200)
          self.send_header("Content-Length", str(len(body)))
          self.end_headers()
          self.wfile.write(body)
      def do_GET(self):
          self.answer({"connected": True, "scanning": True, "modelState": "ready", "phones": []})
      def do_POST(self):
          print(self.rfile.read(int(self.headers["Content-Length"])).decode(), flush=True)
          self.answer({"id": "1", "output": "thanks", "ok": True, "durationMs": 1})
      def log_message(self, *_): pass
  server = http.server.HTTPServer(("127.0.0.1", 11435), Handler)
  print("ready", flush=True)
  server.serve_forever()
  """

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path

private var isPossible: Bool {
  let programs = [program, "/usr/bin/python3"].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
  guard programs, ["setpriv", "ip"].allSatisfy({ ChildProcess.path(of: $0) != nil }),
    let probe = try? ChildProcess("unshare", ["--net", "true"], errors: .discarded)
  else { return false }
  return probe.wait() == 0
}
