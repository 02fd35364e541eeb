import Coverage
import FoundationEssentials
import Glibc
import JSONValues

/// A pass over the stored sessions, whose server is a folder: what it has taken outlives a kill, as a real one's does.
enum Sending {
  static let server = "https://control.example"

  /// A server that takes each session once: a result becomes a file whose name is that of its session.
  private struct FolderServer: CoverageTransport {
    let folder: String

    private struct Result: Decodable {
      var session: String

      private enum CodingKeys: String, CodingKey { case session = "test_uuid" }
    }

    func post(_ route: CoverageRoute, members: Data) async throws -> ControlReply {
      guard route == .result else { return try grant() }
      let session = try JSONDecoder().decode(Result.self, from: members).session
      let new = "\(folder)/new-\(getpid())"
      try members.write(to: URL(filePath: new))
      defer { unlink(new) }
      // All of it or nothing, and once.
      guard link(new, "\(folder)/\(session)") == 0 else {
        guard errno == EEXIST else { throw CoverageError(.unreachable, "the server is broken", errno: errno) }
        return ControlReply(status: 400, body: Data(#"{"error":["No started test found by id \#(session)"]}"#.utf8))
      }
      return ControlReply(status: 200, body: Data("{}".utf8))
    }

    private func grant() throws -> ControlReply {
      let text = """
        {"test_uuid":"late-\(UUID().uuidString)","ping_token":"\(Data(count: 16).base64EncodedString())",\
        "ping_host":"127.0.0.1","ping_port":"9"}
        """
      return ControlReply(status: 201, body: Data(text.utf8))
    }
  }

  static func run(_ path: String, to folder: String) async throws {
    let store = try CoverageStore(path: path)
    let summary = try await CoverageSender(store: store, server: server, transport: FolderServer(folder: folder)).send()
    print("sent \(summary.reports.count { $0.outcome == .delivered })")
  }
}
