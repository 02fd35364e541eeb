/// An estimate of whether the user pays for the traffic of the default route by volume.
public enum Metered: Sendable, Hashable {
  /// The user, or the network, declared the connection metered.
  case yes
  /// The connection is probably metered, by an estimate.
  case probably
  /// The connection is not metered, or probably not.
  case no
}

/// A source of estimates of whether traffic is metered, which the kernel does not know.
///
/// The library `NetworkPathNetworkManager` has one that reads NetworkManager's property `Metered` over D-Bus. A program
/// that knows better, for instance from a setting, has a source of its own:
///
/// ```swift
/// struct AlwaysMetered: MeteredSource {
///   func follow(_ report: @escaping @Sendable (Metered?) -> Void) async { report(.yes) }
/// }
/// var options = NetworkPathMonitor.Options()
/// options.meteredSource = AlwaysMetered()
/// ```
public protocol MeteredSource: Sendable {
  /// Reports estimates until the task is cancelled.
  ///
  /// The monitor calls this once, in a task that it cancels when it is closed. An estimate that was reported stays valid
  /// after the function has returned.
  /// - Parameter report: A closure that takes each new estimate, and `nil` when none is available.
  func follow(_ report: @escaping @Sendable (Metered?) -> Void) async
}
