public import DBus

/// A descriptor of a remote characteristic.
public struct RemoteDescriptor: Sendable, Hashable {
  static let interface = InterfaceName.descriptor

  /// The device it belongs to.
  public let device: Device
  /// Its object in bluetoothd. Descriptors with one UUID differ by it.
  public let path: ObjectPath
  /// What it is.
  public let uuid: BluetoothUUID

  /// Its handle; `nil` when bluetoothd names it another way.
  public var handle: UInt16? { path.attributeHandle }

  /// Reads the value; bluetoothd reads as often as it takes for a long one.
  /// - Throws: ``BlueZError`` as ``RemoteCharacteristic/read(offset:timeout:)``.
  public func read(offset: UInt16 = 0, timeout: Duration = .seconds(35)) async throws -> [UInt8] {
    try check()
    return try await device.core.readValue(path, Self.interface, offset, timeout, doing: "reading \(uuid)")
  }

  /// Writes the value, with response; what is longer than MTU − 3 in pieces, up to 512 bytes.
  ///
  /// The client configuration (`2902`) is bluetoothd's own, written by
  /// ``RemoteCharacteristic/notifications(limit:overflow:path:)``.
  /// - Throws: ``BlueZError`` as ``RemoteCharacteristic/write(_:_:offset:timeout:)``, and `.notPermitted` for the
  ///   client configuration.
  public func write(_ value: [UInt8], offset: UInt16 = 0, timeout: Duration = .seconds(35)) async throws {
    try check()
    guard uuid != "2902" else {
      throw BlueZError(
        .notPermitted, "the client configuration is written by bluetoothd", hint: "subscribe with `notifications()`")
    }
    guard Int(offset) + value.count <= AttributeLimits.value else {
      throw BlueZError(
        .invalidArgument, "\(value.count) bytes for \(uuid), which takes \(AttributeLimits.value) in one write")
    }
    try await device.core.writeValue(
      path, Self.interface, value, offset.writeOptions, timeout: timeout,
      doing: "writing \(uuid)")
  }

  private func check() throws {
    try device.check()
    guard device.core.property(path, Self.interface, "UUID") != nil else {
      throw BlueZError(.staleHandle, "the descriptor \(uuid) of \(device.peer) is gone", hint: "look it up again")
    }
  }
}

extension UInt16 {
  /// The options of a write that starts at this offset.
  var writeOptions: [String: Value] { self > 0 ? ["offset": .uint16(self)] : [:] }
}

/// What characteristics and descriptors have in common.
extension SessionCore {
  func readValue(
    _ path: ObjectPath, _ interface: String, _ offset: UInt16, _ timeout: Duration, doing: String
  ) async throws -> [UInt8] {
    let reply = try await call(
      Method(path, interface, "ReadValue", returning: "ay"),
      [.properties(offset == 0 ? [:] : ["offset": .uint16(offset)])], timeout: timeout, doing: doing)
    return reply[0].bytes ?? []
  }

  func writeValue(
    _ path: ObjectPath, _ interface: String, _ value: [UInt8], _ options: [String: Value], timeout: Duration,
    doing: String
  ) async throws {
    try await call(
      path, interface, "WriteValue", [.bytes(value), .properties(options)], timeout: timeout, doing: doing)
  }
}

extension ObjectPath {
  /// bluetoothd ends the names of remote attributes with their handle: `service001a`, `char001b`, `desc001d`.
  var attributeHandle: UInt16? {
    let element = lastElement
    let isNamed = ["service", "char", "desc"].contains { element.hasPrefix($0) && element.count == $0.count + 4 }
    return isNamed ? UInt16(element.suffix(4), radix: 16) : nil
  }
}
