import Foundation
import JSONValues
import Streams

@testable import SpeedTest

/// A control server in this process: it takes each request and returns a reply, or throws what a network would.
struct FakeControlServer: ControlTransport {
  let requests = Lock<[(path: String, body: JSONValue)]>([])
  /// The folders of its clients, which stay as long as a client.
  private let folders = Lock<[TemporaryFolder]>([])
  let reply: @Sendable (_ path: String, _ body: JSONValue) throws -> ControlReply

  init(_ reply: @escaping @Sendable (_ path: String, _ body: JSONValue) throws -> ControlReply) { self.reply = reply }

  func post(_ url: String, body: Data) async throws -> ControlReply {
    let path = url.replacingOccurrences(of: "https://control.example/RMBTControlServer", with: "")
    let value = try JSONValue(parsing: Array(body))
    requests.withLock { $0.append((path, value)) }
    return try reply(path, value)
  }

  /// The bodies of the requests to a path.
  func bodies(_ path: String) -> [JSONValue] { requests.withLock { $0.filter { $0.path == path }.map(\.body) } }

  /// A client of this server, with its state in a folder.
  func client(_ folder: TemporaryFolder) throws -> ControlClient {
    folders.withLock { $0.append(folder) }
    return try ControlClient(
      address: "https://control.example", transport: self,
      device: ControlDevice(
        osVersion: "Linux 6.1", model: "board", language: "de_AT.UTF-8", timezone: "Europe/Vienna",
        softwareVersion: "1.2.3"),
      folder: folder.path)
  }
}

extension ControlReply {
  init(_ text: String, status: Int = 200) { self.init(status: status, body: Data(text.utf8)) }
}

/// A folder that is removed with the object.
final class TemporaryFolder: Sendable {
  let path = FileManager.default.temporaryDirectory.appending(path: "control-\(UUID().uuidString)").path

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
