public import DBus

/// A characteristic of a remote device.
public struct RemoteCharacteristic: Sendable, Hashable {
  static let interface = "org.bluez.GattCharacteristic1"

  /// How a value is written.
  public enum WriteType: String, Sendable {
    /// The peer answers; longer than the MTU is written in pieces (a long write), up to 512 bytes.
    case withResponse = "request"
    /// Nobody answers; at most MTU − 3 bytes.
    case withoutResponse = "command"
  }

  /// The device it belongs to.
  public let device: Device
  /// Its object in bluetoothd.
  public let path: ObjectPath
  /// What it is.
  public let uuid: BluetoothUUID
  /// What it allows.
  public let flags: CharacteristicFlags

  private var core: SessionCore { device.core }

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

  /// Reads the value; bluetoothd reads as often as it takes for a long one.
  /// - Throws: ``BlueZError``: `.attributeError` when the peer refuses, `.notConnected`, `.staleHandle`, `.timedOut`.
  public func read(timeout: Duration = .seconds(35)) async throws -> [UInt8] {
    try check()
    let reply = try await core.call(
      path, Self.interface, "ReadValue", [.properties([:])], returning: "ay", timeout: timeout, doing: "reading \(uuid)"
    )
    return reply[0].bytes ?? []
  }

  /// Writes a value.
  /// - Parameters:
  ///   - value: at most 512 bytes, or MTU − 3 without response. bluetoothd before 5.70 refuses 511 and 512 bytes, and
  ///     long writes over 508, when it is the peer.
  ///   - type: whether the peer answers.
  ///   - timeout: ATT itself gives up after 30 s.
  /// - Throws: ``BlueZError``: `.invalidArgument` when it is too long, `.attributeError` when the peer refuses,
  ///   `.notConnected`, `.staleHandle`, `.timedOut`.
  public func write(
    _ value: [UInt8], _ type: WriteType = .withResponse, timeout: Duration = .seconds(35)
  ) async throws {
    try check()
    try checkLength(value, type)
    try await core.call(
      path, Self.interface, "WriteValue", [.bytes(value), .properties(["type": .string(type.rawValue)])],
      timeout: timeout, doing: "writing \(value.count) bytes to \(uuid)")
  }

  private func checkLength(_ value: [UInt8], _ type: WriteType) throws {
    let limit =
      switch type {
      case .withResponse: PacketSocket.longestValue
      case .withoutResponse: min(device.mtu.map { $0 - 3 } ?? PacketSocket.longestValue, PacketSocket.longestValue)
      }
    guard value.count <= limit else {
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

/// A descriptor of a remote characteristic.
public struct RemoteDescriptor: Sendable, Hashable {
  static let interface = "org.bluez.GattDescriptor1"

  /// The device it belongs to.
  public let device: Device
  /// Its object in bluetoothd.
  public let path: ObjectPath
  /// What it is.
  public let uuid: BluetoothUUID

  /// Reads the value.
  /// - Throws: ``BlueZError`` as ``RemoteCharacteristic/read(timeout:)``.
  public func read(timeout: Duration = .seconds(35)) async throws -> [UInt8] {
    try device.check()
    let reply = try await device.core.call(
      path, Self.interface, "ReadValue", [.properties([:])], returning: "ay", timeout: timeout, doing: "reading \(uuid)"
    )
    return reply[0].bytes ?? []
  }

  /// Writes the value, with response.
  /// - Throws: ``BlueZError`` as ``RemoteCharacteristic/write(_:_:timeout:)``.
  public func write(_ value: [UInt8], timeout: Duration = .seconds(35)) async throws {
    try device.check()
    try await device.core.call(
      path, Self.interface, "WriteValue", [.bytes(value), .properties([:])], timeout: timeout, doing: "writing \(uuid)")
  }
}
