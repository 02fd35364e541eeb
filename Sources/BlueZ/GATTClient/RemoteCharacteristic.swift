public import DBus

/// A characteristic of a remote device.
public struct RemoteCharacteristic: Sendable, Hashable {
  static let interface = InterfaceName.characteristic

  /// How a value is written.
  public enum WriteType: String, Sendable {
    /// The peer answers. What is longer than MTU − 3 is written in pieces (a long write), up to 512 bytes.
    case withResponse = "request"
    /// Nobody answers; at most MTU − 3 bytes.
    case withoutResponse = "command"
    /// In pieces which the peer sends back and bluetoothd compares before the peer is told to take the whole, up to
    /// 512 bytes. Only where the flags say ``CharacteristicFlags/reliableWrite``.
    case reliable
  }

  /// The device it belongs to.
  public let device: Device
  /// Its object in bluetoothd. Characteristics with one UUID differ by it.
  public let path: ObjectPath
  /// What it is.
  public let uuid: BluetoothUUID
  /// What it allows. BlueZ knows what the peer declares, not which security it asks for.
  public let flags: CharacteristicFlags

  private var core: SessionCore { device.core }

  /// The handle of its declaration; its value has the next one. `nil` when bluetoothd names it another way.
  public var handle: UInt16? { path.attributeHandle }

  /// Its descriptors, in the order of their handles.
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

  /// Finds a descriptor; the first where there are several with one UUID.
  /// - Throws: ``BlueZError`` with code `.notSupported` when there is none, `.staleHandle`.
  public func descriptor(_ uuid: BluetoothUUID) throws -> RemoteDescriptor {
    try check()
    guard let found = descriptors.first(where: { $0.uuid == uuid }) else {
      throw BlueZError(.notSupported, "the characteristic \(self.uuid) has no descriptor \(uuid)")
    }
    return found
  }

  /// Reads the value; bluetoothd reads as often as it takes for a long one.
  /// - Parameters:
  ///   - offset: where in the value to begin, in bytes.
  ///   - timeout: ATT itself gives up after 30 s.
  /// - Throws: ``BlueZError``: `.attributeError` when the peer refuses, `.notPermitted` when it wants a paired link,
  ///   `.invalidArgument` for an offset behind the end, `.notConnected`, `.staleHandle`, `.timedOut`.
  public func read(offset: UInt16 = 0, timeout: Duration = .seconds(35)) async throws -> [UInt8] {
    try check()
    return try await core.readValue(path, Self.interface, offset, timeout, doing: "reading \(uuid)")
  }

  /// Writes a value.
  /// - Parameters:
  ///   - value: at most 512 bytes, or MTU − 3 without response. bluetoothd before 5.70 refuses 511 and 512 bytes, and
  ///     long writes over 508, when it is the peer.
  ///   - type: whether the peer answers, and how.
  ///   - offset: where in the value the bytes belong; other than 0 it is a long write, whatever the length.
  ///   - timeout: ATT itself gives up after 30 s.
  /// - Throws: ``BlueZError``: `.invalidArgument` when it is too long, `.notSupported` when the flags do not allow this
  ///   type, `.inProgress` while a ``CharacteristicWriter`` holds the characteristic, `.attributeError` when the peer
  ///   refuses, `.notPermitted` when it wants a paired link, `.notConnected`, `.staleHandle`, `.timedOut`.
  public func write(
    _ value: [UInt8], _ type: WriteType = .withResponse, offset: UInt16 = 0, timeout: Duration = .seconds(35)
  ) async throws {
    try check()
    try check(value, type, offset)
    do {
      try await core.writeValue(
        path, Self.interface, value, offset.writeOptions.merging(["type": .string(type.rawValue)]) { $1 },
        timeout: timeout, doing: "writing \(value.count) bytes to \(uuid)")
    } catch let error as BlueZError {
      throw error.whenAcquired
    }
  }

  private func check(_ value: [UInt8], _ type: WriteType, _ offset: UInt16) throws {
    if type == .reliable, !flags.contains(.reliableWrite) {
      throw BlueZError(.notSupported, "\(uuid) takes no reliable writes")
    }
    if type == .withoutResponse, offset > 0 {
      throw BlueZError(.invalidArgument, "a write without response begins at 0, not at \(offset)")
    }
    let limit = type == .withoutResponse && device.mtu != nil ? device.longestValue : AttributeLimits.value
    guard Int(offset) + value.count <= limit else {
      throw BlueZError(.invalidArgument, "\(value.count) bytes for \(uuid), which takes \(limit) in one write")
    }
  }

  func check() throws {
    try device.check()
    guard core.property(path, Self.interface, "UUID") != nil else {
      throw BlueZError(.staleHandle, "the characteristic \(uuid) of \(device.peer) is gone", hint: "look it up again")
    }
  }
}
