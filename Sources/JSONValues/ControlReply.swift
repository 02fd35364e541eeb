public import FoundationEssentials

/// The reply of a control server to a request, whatever its status.
///
/// Control servers of the open RMBT servers grant tests and sessions of coverage, and take their results.
///
/// ```swift
/// let reply = ControlReply(status: 400, body: Data(#"{"error":["unknown client"]}"#.utf8))
/// if !reply.isSuccess { print(reply.reason) }  // unknown client
/// ```
public struct ControlReply: Sendable, Hashable {
  /// The status code of HTTP.
  public var status: Int
  /// The body, as it came; the transport limits its size.
  public var body: Data

  /// Creates a reply from its status and its body.
  public init(status: Int, body: Data) {
    self.status = status
    self.body = body
  }

  /// A Boolean value that indicates whether the status reports success.
  public var isSuccess: Bool { (200..<300).contains(status) }

  /// The errors that the server names, at most 8 with at most 200 characters each.
  public var errors: [String] { LenientJSON(parsing: body)?.errors ?? [] }

  /// The first error of the server, or its status.
  public var reason: String { errors.first ?? "status \(status)" }
}
