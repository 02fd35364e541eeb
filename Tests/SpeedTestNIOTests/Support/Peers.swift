import Foundation
import Glibc
import SystemTesting
import Testing

@testable import SpeedTest
@testable import SpeedTestNIO

/// The peers written in Python from the protocol's description: `Peers/`.
enum Peers {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Peers")

  static func path(_ name: String) -> String { folder.appending(path: name).standardized.path }

  /// The path of Chromium; `nil` without one.
  static let browser = ["chromium-headless-shell", "chromium"].lazy.compactMap(ChildProcess.path(of:)).first

  static let isThere = ChildProcess.path(of: "python3") != nil

  /// The command as it was built.
  static let program = folder.appending(path: "../../../.build/debug/edgeblue").standardized.path
}

/// A server written in Python, on a free port.
struct PythonServer {
  let process: ChildProcess
  let port: Int

  /// - Parameter folder: The folder of its certificate.
  init(_ arguments: [String], folder: String? = nil) async throws {
    let command = UnprivilegedCommand(
      "python3", [Peers.path("rmbt_server.py")] + arguments, writing: folder.map { [$0] } ?? [])
    let process = try ChildProcess(command.program, command.arguments, errors: .discarded)
    self.process = process
    port = try await within(.seconds(20), "the start of the Python server") {
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(with: Result { try #require(Int(try process.firstLine())) })
        }
      }
    }
  }

  /// A client of this server, with limits that suit a test.
  var client: SpeedTestClient {
    var client = SpeedTestClient(host: "127.0.0.1", port: port)
    client.limits.greeting = .seconds(2)
    client.limits.authorisation = .seconds(5)
    client.limits.step = .seconds(5)
    client.limits.downloadGrace = .seconds(1)
    client.limits.uploadGrace = .seconds(1)
    return client
  }
}

/// A listening socket and a UDP socket on the same port of 127.0.0.1, as a service manager opens them; the server closes
/// them.
struct BoundSockets {
  let stream: Int32
  let datagram: Int32
  let port: Int

  init() throws {
    stream = LoopbackPort.makeSocket()
    datagram = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    let port = try LoopbackPort.free()
    for descriptor in [stream, datagram] {
      try #require(LoopbackPort.withAddress(port) { bind(descriptor, $0, $1) } == 0)
    }
    try #require(listen(stream, 16) == 0)
    self.port = Int(port)
  }
}

extension SpeedTestPlan {
  /// A plan that takes three seconds.
  static func short(threads: Int = 2, seconds: Int = 1, upload: Bool = true) throws -> SpeedTestPlan {
    var plan = try SpeedTestPlan(threads: threads, seconds: seconds, includesUpload: upload)
    plan.pretest = .milliseconds(100)
    plan.pingDuration = .milliseconds(50)
    return plan
  }
}

/// A certificate for 127.0.0.1 and localhost, with its key, in a folder that is removed with the object.
final class TestCertificate: Sendable {
  let folder: String
  var certificate: String { folder + "/certificate.pem" }
  var key: String { folder + "/key.pem" }

  static let isPossible = ChildProcess.path(of: "openssl") != nil

  init() async throws {
    folder = NSTemporaryDirectory() + "edgeblue-speed-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let openssl = try ChildProcess(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
        "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", folder + "/key.pem", "-out",
        folder + "/certificate.pem",
      ], errors: .discarded)
    guard await openssl.outcome().status == 0 else { throw MissingProgram("openssl") }
  }

  deinit {
    do {
      try FileManager.default.removeItem(atPath: folder)
    } catch {
      Issue.record("\(folder) could not be removed: \(error)")
    }
  }
}
