import DBus
import Timing

/// A Bluetooth controller of this machine, known by its address.
///
/// Its properties are read from a cache that the bus keeps current; they cost nothing and never wait.
public struct Adapter: Sendable, Hashable {
  static let interface = InterfaceName.adapter

  /// The session it belongs to.
  public let session: Session
  /// The controller's own address.
  public let address: BluetoothAddress

  var core: SessionCore { session.core }

  /// Two adapters are equal when they are the same controller in the same session.
  public static func == (a: Adapter, b: Adapter) -> Bool { a.session === b.session && a.address == b.address }

  /// Hashes the address.
  public func hash(into hasher: inout Hasher) { hasher.combine(address) }

  /// Switches it on or off, and waits until it is.
  ///
  /// Switching on is declared: when the adapter comes back switched off, after being unplugged or after a restart of
  /// bluetoothd, the session switches it on again.
  /// - Parameters:
  ///   - on: which of the two.
  ///   - timeout: how long bluetoothd may take; a controller that was just plugged in is busy for a moment.
  /// - Throws: ``BlueZError`` with code `.noAdapter`, `.timedOut`, or `.notPermitted`.
  public func setPowered(_ on: Bool, timeout: Duration = .seconds(5)) async throws {
    let core = core
    let address = address
    core.state.withLock { state in
      state.adapters.setKeptOn(on, address)
    }
    let path = try await core.whenPresent(address)
    let doing = "switching \(path.lastElement) \(on ? "on" : "off")"
    try await withTimeout(timeout, doing, hint: "is it blocked? see `rfkill list`") {
      while true {
        do {
          return try await core.set(path, Self.interface, "Powered", .bool(on), doing: doing)
        } catch let error as BlueZError where error.code == .inProgress {
          try await Task.sleep(for: .milliseconds(100), clock: .steady)
        }
      }
    }
    try await wait(doing, timeout, until: "Powered", is: on, at: path)
  }

  /// Changes the name it shows to others; an empty one puts ``systemName`` back.
  /// - Throws: ``BlueZError``.
  public func setAlias(_ alias: String) async throws {
    let path = try await core.whenPresent(address)
    try await core.set(path, Self.interface, "Alias", .string(alias), doing: "renaming \(path.lastElement)")
  }

  /// Lets Classic devices find it, or not any more; an LE advertisement has a flag of its own for that.
  /// - Parameters:
  ///   - discoverable: which of the two.
  ///   - timeout: after what time it ends by itself, in whole seconds; `nil` is never.
  /// - Throws: ``BlueZError`` with code `.noAdapter`, `.notPowered`, `.notPermitted` or `.serviceUnavailable`.
  public func setDiscoverable(_ discoverable: Bool, for timeout: Duration? = nil) async throws {
    let path = try await core.whenPresent(address)
    let doing = "making \(path.lastElement) \(discoverable ? "" : "not ")discoverable"
    if discoverable {
      let seconds = UInt32(clamping: timeout.map { max($0.components.seconds, 1) } ?? 0)
      try await core.set(path, Self.interface, "DiscoverableTimeout", .uint32(seconds), doing: doing)
    }
    try await core.set(path, Self.interface, "Discoverable", .bool(discoverable), doing: doing)
    try await wait(doing, .seconds(5), until: "Discoverable", is: discoverable, at: path)
  }

  /// Waits for a property, as long as the adapter is there.
  func wait(
    _ doing: String, _ timeout: Duration, until property: String, is wanted: Bool, at path: ObjectPath
  ) async throws {
    try await core.wait(doing, timeout) { [address] state in
      guard let properties = state.cache.properties(path, Self.interface) else {
        throw BlueZError(.noAdapter, "\(doing): the adapter \(address) went away")
      }
      return properties[property]?.bool == wanted ? () : nil
    }
  }

  // MARK: Where it is

  var path: ObjectPath? { core.path(of: address) }

  /// Where it is now, for what does not wait.
  func requirePath() throws -> ObjectPath {
    if let path { return path }
    let absence = core.state.withLock { SessionCore.absence(of: address, in: $0) }
    throw absence ?? BlueZError(.noAdapter, "the adapter \(address) has not come back yet")
  }
}
