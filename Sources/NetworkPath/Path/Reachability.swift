/// The result of a reachability probe.
public enum Reachability: String, Sendable, Hashable, CaseIterable {
  /// The server replied with the expected content.
  case reachable
  /// A captive portal, such as a hotel's, replied instead of the server.
  case portal
  /// No reply arrived within the timeout, or the connection failed.
  case unreachable
}

/// A check that a server beyond the local network can be reached.
///
/// The monitor only decides when to probe; a program implements the probe with the HTTP client it uses anyway:
///
/// ```swift
/// struct PortalProbe: ReachabilityProbe {
///   func probe() async throws -> Reachability {
///     .reachable  // send a request to a server of your own, and compare its reply
///   }
/// }
/// var options = NetworkPathMonitor.Options()
/// options.probe = PortalProbe()
/// let monitor = try await NetworkPathMonitor.start(options)
/// ```
public protocol ReachabilityProbe: Sendable {
  /// Sends one request and classifies the reply. The monitor cancels the task at its timeout.
  /// - Returns: The result of the probe.
  /// - Throws: An error that prevented the request; it counts as ``Reachability/unreachable``.
  func probe() async throws -> Reachability
}
