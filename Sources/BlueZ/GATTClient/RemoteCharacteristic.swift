public import DBus

/// A GATT characteristic of a remote device.
///
/// ```swift
/// let battery = try device.characteristic("2a19", in: "180f")
/// print(try await battery.read().first ?? 0, "%")
/// if battery.flags.contains(.notify) {
///   for try await value in try await battery.notifications() { print(value.first ?? 0, "%") }
/// }
/// ```
public struct RemoteCharacteristic: Sendable, Hashable {
  static let interface = InterfaceName.characteristic

  /// The GATT procedure of a write.
  public enum WriteType: String, Sendable {
    /// A write to which the peer responds. A value longer than MTU − 3 is sent in several requests (a long write), up
    /// to 512 bytes.
    case withResponse = "request"
    /// A write to which the peer does not respond, of at most MTU − 3 bytes.
    case withoutResponse = "command"
    /// A reliable write: the peer returns each part, and bluetoothd compares the parts before it commits the whole, up
    /// to 512 bytes. It needs the flag ``CharacteristicFlags/reliableWrite``.
    case reliable
  }

  /// The device that the characteristic belongs to.
  public let device: Device
  /// The path of the characteristic's object in bluetoothd, by which characteristics with the same UUID differ.
  public let path: ObjectPath
  /// The UUID of the characteristic's type.
  public let uuid: BluetoothUUID
  /// The operations that the peer declares. BlueZ does not know the security that the peer requires.
  public let flags: CharacteristicFlags

  private var core: SessionCore { device.core }

  /// The handle of the declaration; the value has the next one. `nil` when bluetoothd names the object in another way.
  public var handle: UInt16? { path.attributeHandle }

  /// The descriptors of the characteristic, ordered by handle.
  public var descriptors: [RemoteDescriptor] {
    core.state.withLock { state in
      let cache = state.cache
      return cache.paths(with: RemoteDescriptor.interface, below: path).compactMap { path in
        cache.properties(path, RemoteDescriptor.interface)?["UUID"]?.string.flatMap(BluetoothUUID.init).map {
          RemoteDescriptor(device: device, path: path, uuid: $0)
        }
      }
    }
  }

  /// A Boolean value that indicates whether a program on this host, not only this one, is subscribed to the value.
  public var isNotifying: Bool {
    core.state.withLock { state in
      guard state.generation == device.generation else { return false }
      let properties = state.cache.properties(path, Self.interface)
      // bluetoothd reports only the second one for a subscription over a socket.
      return ["Notifying", "NotifyAcquired"].contains { properties?[$0]?.bool == true }
    }
  }

  /// Returns the descriptor with a UUID; the first one where there are several.
  /// - Throws: ``BlueZError`` with code `.notSupported` when there is none, `.staleHandle`.
  public func descriptor(_ uuid: BluetoothUUID) throws -> RemoteDescriptor {
    try check()
    guard let found = descriptors.first(where: { $0.uuid == uuid }) else {
      throw BlueZError(.notSupported, "the characteristic \(self.uuid) has no descriptor \(uuid)")
    }
    return found
  }

  /// Reads the value; bluetoothd sends as many requests as a long one needs.
  /// - Parameters:
  ///   - offset: The position of the first byte to read.
  ///   - timeout: The longest time to wait; ATT itself fails after 30 s.
  /// - Returns: The value from the offset on.
  /// - Throws: ``BlueZError``: `.attributeError` when the peer refuses, `.notPermitted` when it requires pairing,
  ///   `.invalidArgument` for an offset beyond the end, `.notConnected`, `.staleHandle`, `.timedOut`.
  public func read(offset: UInt16 = 0, timeout: Duration = .seconds(35)) async throws -> [UInt8] {
    try check()
    return try await core.readValue(path, Self.interface, offset, timeout, doing: "reading \(uuid)")
  }

  /// Writes a value to the peer.
  /// - Parameters:
  ///   - value: The value, at most 512 bytes, or MTU − 3 without response. As a peer, bluetoothd before 5.70 refuses
  ///     511 and 512 bytes, and long writes over 508.
  ///   - type: The GATT procedure.
  ///   - offset: The position of the first byte to write; any other than 0 makes it a long write.
  ///   - timeout: The longest time to wait; ATT itself fails after 30 s.
  /// - Throws: ``BlueZError``: `.invalidArgument` when the value is too long, `.notSupported` when the flags do not
  ///   permit this type, `.inProgress` while a ``CharacteristicWriter`` holds the characteristic, `.attributeError`
  ///   when the peer refuses, `.notPermitted` when it requires pairing, `.notConnected`, `.staleHandle`, `.timedOut`.
  public func write(
    _ value: [UInt8], _ type: WriteType = .withResponse, offset: UInt16 = 0, timeout: Duration = .seconds(35)
  ) async throws {
    try check()
    try check(value, type, offset)
    let options = offset.writeOptions.merging(["type": .string(type.rawValue)]) { $1 }
    do {
      try await writeNow(value, options, timeout)
    } catch let error as BlueZError {
      guard error.whenAcquired.code == .inProgress, try await hasReleased(.writer(of: path)) else {
        throw error.whenAcquired
      }
      try await writeNow(value, options, timeout)
    }
  }

  private func writeNow(_ value: [UInt8], _ options: [String: Value], _ timeout: Duration) async throws {
    try await core.writeValue(
      path, Self.interface, value, options, timeout: timeout, doing: "writing \(value.count) bytes to \(uuid)")
  }

  private func check(_ value: [UInt8], _ type: WriteType, _ offset: UInt16) throws {
    if type == .reliable, !flags.contains(.reliableWrite) {
      throw BlueZError(.notSupported, "\(uuid) does not support reliable writes")
    }
    if type == .withoutResponse, offset > 0 {
      throw BlueZError(.invalidArgument, "the offset of a write without response is \(offset); allowed: 0")
    }
    let limit =
      type == .withoutResponse ? device.mtu.map(Device.longestValue) ?? AttributeLimits.value : AttributeLimits.value
    guard Int(offset) + value.count <= limit else {
      throw BlueZError(
        .invalidArgument, "the value for \(uuid) has \(value.count) bytes; allowed: at most \(limit) minus the offset")
    }
  }

  func check() throws {
    try device.check()
    guard core.property(path, Self.interface, "UUID") != nil else {
      throw BlueZError(
        .staleHandle, "the characteristic \(uuid) of \(device.peer) is gone",
        hint: "get the characteristic again after connecting")
    }
  }
}
