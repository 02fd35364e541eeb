import Foundation
import JSONValues
import Streams

@testable import Coverage

/// A control server in memory that takes each session once, with faults as a test wants them.
final class FakeServer: CoverageTransport {
  /// What happens to a request.
  enum Fault: Sendable, Hashable {
    /// The server cannot be reached.
    case unreachable
    /// The reply is lost, after the server has done its work.
    case lostReply
    /// The server fails before its work.
    case failure
    /// The server fails after its work.
    case failureAfterwards
    /// A page of a captive portal comes.
    case portal
    /// The server refuses the figures.
    case refusal
  }

  struct State {
    var granted: Set<String> = []
    /// The results that were taken, in their order.
    var taken: [(uuid: String, fences: [[String: Any]])] = []
    var requests: [[String: Any]] = []
    var attempts = 0
    var next = 0
  }

  let state = Lock(State())
  private let fault: @Sendable (CoverageRoute) -> Fault?
  private let onPost: @Sendable (CoverageRoute, _ isDone: Bool) -> Void

  /// - Parameters:
  ///   - fault: The fault of the next request, if any.
  ///   - onPost: A closure that runs before the server works on a request, and after it.
  init(
    fault: @escaping @Sendable (CoverageRoute) -> Fault? = { _ in nil },
    onPost: @escaping @Sendable (CoverageRoute, Bool) -> Void = { _, _ in }
  ) {
    self.fault = fault
    self.onPost = onPost
  }

  func post(_ route: CoverageRoute, members: Data) async throws -> ControlReply {
    let fault = fault(route)
    onPost(route, false)
    switch fault {
    case .unreachable: throw CoverageError(.unreachable, "no server responds")
    case .failure: return ControlReply(status: 503, body: Data())
    case .portal: return ControlReply(status: 200, body: Data("<html>Welcome</html>".utf8))
    case .refusal: return ControlReply(status: 422, body: Data(#"{"error":["figures"]}"#.utf8))
    default: break
    }
    let reply = work(route, try JSONSerialization.jsonObject(with: members) as? [String: Any] ?? [:])
    onPost(route, true)
    switch fault {
    case .lostReply: throw CoverageError(.interrupted, "the connection was interrupted")
    case .failureAfterwards: return ControlReply(status: 502, body: Data("bad gateway".utf8))
    default: return reply
    }
  }

  private func work(_ route: CoverageRoute, _ members: [String: Any]) -> ControlReply {
    state.withLock { state in
      switch route {
      case .request:
        state.requests.append(members)
        state.next += 1
        let uuid = "u\(state.next)"
        state.granted.insert(uuid)
        let token = Data(repeating: 7, count: 16).base64EncodedString()
        let text = """
          {"test_uuid":"\(uuid)","loop_uuid":"L\(state.next)","ping_token":"\(token)","ping_host":"127.0.0.1",\
          "ping_port":"9"}
          """
        return ControlReply(status: 201, body: Data(text.utf8))
      case .result:
        state.attempts += 1
        let uuid = members["test_uuid"] as? String ?? ""
        guard state.granted.remove(uuid) != nil else {
          return ControlReply(status: 400, body: Data(#"{"error":["No started test found by id \#(uuid)"]}"#.utf8))
        }
        state.taken.append((uuid, members["fences"] as? [[String: Any]] ?? []))
        return ControlReply(status: 200, body: Data("{}".utf8))
      }
    }
  }

  /// Lets the server know a session that it has granted elsewhere.
  func grant(_ uuid: String) { state.withLock { _ = $0.granted.insert(uuid) } }
  var taken: [String] { state.withLock { $0.taken.map(\.uuid) } }
  var attempts: Int { state.withLock { $0.attempts } }
}
