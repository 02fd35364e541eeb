public import DBus

/// A GATT descriptor of a remote characteristic.
///
/// ```swift
/// let description = try characteristic.descriptor("2901")
/// print(String(decoding: try await description.read(), as: UTF8.self))
/// ```
public struct RemoteDescriptor: Sendable, Hashable {
  static let interface = InterfaceName.descriptor

  /// The device that the descriptor belongs to.
  public let device: Device
  /// The path of the descriptor's object in bluetoothd, by which descriptors with the same UUID differ.
  public let path: ObjectPath
  /// The UUID of the descriptor's type.
  public let uuid: BluetoothUUID

  /// The handle of the descriptor; `nil` when bluetoothd names the object in another way.
  public var handle: UInt16? { path.attributeHandle }

  /// Reads the value; bluetoothd sends as many requests as a long one needs.
  /// - Throws: ``BlueZError``: the errors of ``RemoteCharacteristic/read(offset:timeout:)``.
  public func read(offset: UInt16 = 0, timeout: Duration = .seconds(35)) async throws -> [UInt8] {
    try check()
    return try await device.core.readValue(path, Self.interface, offset, timeout, doing: "reading \(uuid)")
  }

  /// Writes the value with response; one longer than MTU − 3 in several requests, up to 512 bytes.
  ///
  /// The client configuration (`2902`) is written by bluetoothd itself, when
  /// ``RemoteCharacteristic/notifications(limit:overflow:path:)`` subscribes.
  /// - Throws: ``BlueZError``: the errors of ``RemoteCharacteristic/write(_:_:offset:timeout:)``, and `.notPermitted`
  ///   for the client configuration.
  public func write(_ value: [UInt8], offset: UInt16 = 0, timeout: Duration = .seconds(35)) async throws {
    try check()
    guard uuid != "2902" else {
      throw BlueZError(
        .notPermitted, "the client configuration is written by bluetoothd alone",
        hint: "subscribe with `notifications()`")
    }
    guard Int(offset) + value.count <= AttributeLimits.value else {
      throw BlueZError(
        .invalidArgument,
        "the value for \(uuid) has \(value.count) bytes; allowed: at most \(AttributeLimits.value) minus the offset")
    }
    try await device.core.writeValue(
      path, Self.interface, value, offset.writeOptions, timeout: timeout,
      doing: "writing \(uuid)")
  }

  private func check() throws {
    try device.check()
    guard device.core.property(path, Self.interface, "UUID") != nil else {
      throw BlueZError(
        .staleHandle, "the descriptor \(uuid) of \(device.peer) is gone",
        hint: "get the characteristic again after connecting")
    }
  }
}

extension UInt16 {
  /// The options of a write that starts at this offset.
  var writeOptions: [String: Value] { self > 0 ? ["offset": .uint16(self)] : [:] }
}

extension ObjectPath {
  /// The handle at the end of the name that bluetoothd gives a remote attribute: `service001a`, `char001b`, `desc001d`.
  var attributeHandle: UInt16? {
    let element = lastElement
    let isNamed = ["service", "char", "desc"].contains { element.hasPrefix($0) && element.count == $0.count + 4 }
    return isNamed ? UInt16(element.suffix(4), radix: 16) : nil
  }
}
