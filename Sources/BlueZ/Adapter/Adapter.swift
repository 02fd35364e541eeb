import DBus
import Timing

/// A Bluetooth adapter of this host, identified by its address.
///
/// Of several adapters with one address, which cheap dongles have, each is identified by its name as well.
///
/// Properties are read from a cache that the bus connection keeps current; reading one never waits.
///
/// ```swift
/// let adapter = try await session.adapter("hci0")
/// try await adapter.setPowered(true)
/// print(adapter.name ?? "absent", adapter.alias ?? "", adapter.address)
/// ```
public struct Adapter: Sendable, Hashable {
  static let interface = InterfaceName.adapter

  /// The session that the adapter belongs to.
  public let session: Session
  let identity: AdapterIdentity

  /// The address of the controller itself.
  public var address: BluetoothAddress { identity.address }

  var core: SessionCore { session.core }

  /// Returns `true` if the two are the same controller in the same session.
  public static func == (a: Adapter, b: Adapter) -> Bool { a.session === b.session && a.identity == b.identity }

  /// Hashes the address of the adapter.
  public func hash(into hasher: inout Hasher) { hasher.combine(identity) }

  /// Switches the adapter on or off, and waits until bluetoothd reports it.
  ///
  /// Switching on, once it has succeeded, is a declaration: when the adapter comes back switched off, after it was unplugged or bluetoothd
  /// restarted, the session switches it on again.
  /// - Parameters:
  ///   - on: `true` to switch on.
  ///   - timeout: The longest time that bluetoothd may take; a controller that was just plugged in is busy for a
  ///     moment.
  /// - Throws: ``BlueZError`` with code `.noAdapter`, `.timedOut` (also when `rfkill` blocks the adapter), or
  ///   `.notPermitted`.
  public func setPowered(_ on: Bool, timeout: Duration = .seconds(5)) async throws {
    let core = core
    let identity = identity
    // The end of a wish counts at once, a new one when it is granted: a refused one must not come true hours later.
    if !on { core.state.withLock { $0.adapters.setKeptOn(false, identity) } }
    let path = try await core.whenPresent(identity)
    let doing = "switching \(path.lastElement) \(on ? "on" : "off")"
    try await withTimeout(timeout, doing, hint: "`rfkill list` shows whether it is blocked") {
      while true {
        do {
          return try await core.set(path, Self.interface, "Powered", .bool(on), doing: doing)
        } catch let error as BlueZError where error.code == .inProgress {
          try await Task.sleep(for: .milliseconds(100), clock: .steady)
        }
      }
    }
    try await wait(doing, timeout, until: "Powered", is: on, at: path)
    if on { core.state.withLock { $0.adapters.setKeptOn(true, identity) } }
  }

  /// Changes the name that the adapter presents to other devices; an empty one restores ``systemName``.
  /// - Throws: ``BlueZError`` with code `.noAdapter`, `.notPermitted` or `.serviceUnavailable`.
  public func setAlias(_ alias: String) async throws {
    let path = try await core.whenPresent(identity)
    try await core.set(path, Self.interface, "Alias", .string(alias), doing: "renaming \(path.lastElement)")
  }

  /// Makes the adapter discoverable by Classic devices, or stops that. An LE advertisement has a flag of its own.
  /// - Parameters:
  ///   - discoverable: `true` to make the adapter discoverable.
  ///   - timeout: The duration after which it ends, in whole seconds; `nil` is never.
  /// - Throws: ``BlueZError`` with code `.noAdapter`, `.notPowered`, `.notPermitted` or `.serviceUnavailable`.
  public func setDiscoverable(_ discoverable: Bool, for timeout: Duration? = nil) async throws {
    let path = try await core.whenPresent(identity)
    let doing = "making \(path.lastElement) \(discoverable ? "" : "not ")discoverable"
    if discoverable {
      let seconds = UInt32(clamping: timeout.map { max($0.components.seconds, 1) } ?? 0)
      try await core.set(path, Self.interface, "DiscoverableTimeout", .uint32(seconds), doing: doing)
    }
    try await core.set(path, Self.interface, "Discoverable", .bool(discoverable), doing: doing)
    try await wait(doing, .seconds(5), until: "Discoverable", is: discoverable, at: path)
  }

  /// Waits until a property has a value, as long as the adapter is present.
  func wait(
    _ doing: String, _ timeout: Duration, until property: String, is wanted: Bool, at path: ObjectPath
  ) async throws {
    try await core.wait(doing, timeout) { [identity] state in
      guard let properties = state.cache.properties(path, Self.interface) else {
        throw BlueZError(.noAdapter, "\(doing): the adapter \(identity) was removed")
      }
      return properties[property]?.bool == wanted ? () : nil
    }
  }

  // MARK: The object

  var path: ObjectPath? { core.path(of: identity) }

  /// Returns the adapter's object now, for operations that do not wait.
  func requirePath() throws -> ObjectPath {
    if let path { return path }
    let absence = core.state.withLock { SessionCore.absence(of: identity, in: $0) }
    throw absence ?? BlueZError(.noAdapter, "the adapter \(identity) has not come back yet")
  }
}
