public import BlueZ
internal import DBus

/// Omi and its relatives: Friend and Omi DevKit, Omi CV1, omiGlass and OpenGlass (their audio). One profile; what differs
/// between them, a device says itself.
public struct OmiWearable: Wearable {
  private static let codecAttempts = 3

  /// The audio service, which all of them advertise.
  public var advertisedServices: Set<BluetoothUUID> { [Self.uuid(0x00)] }
  /// The audio data.
  public var audio: (service: BluetoothUUID, characteristic: BluetoothUUID) { (Self.uuid(0x00), Self.uuid(0x01)) }
  /// Packet number, index in the frame, codec's bytes.
  public var framing: PacketFraming { .omi }

  private let codec: AudioCodec?

  /// Describes the family.
  /// - Parameter codec: what a device encodes with that does not say so, or says what is wrong; `nil` believes it.
  public init(codec: AudioCodec? = nil) { self.codec = codec }

  /// A UUID of the family: only the fourth octet differs.
  static func uuid(_ number: Int) -> BluetoothUUID {
    let digits = (number < 16 ? "0" : "") + String(number, radix: 16)
    return BluetoothUUID(stringLiteral: "19b100\(digits)-e8f2-537e-4f6c-d104768a1214")
  }

  /// Reads its codec characteristic, unless the codec was given; a read that fails is tried again twice.
  public func codec(of device: Device) async throws -> AudioCodec {
    if let codec { return codec }
    let characteristic = try device.characteristic(Self.uuid(0x02), in: Self.uuid(0x00))
    for _ in 1..<Self.codecAttempts {
      do {
        return try AudioCodec(omiValue: await characteristic.read(timeout: .seconds(5)))
      } catch let error as BlueZError where error.code == .attributeError || error.code == .failed {
        try await Task.sleep(for: .milliseconds(200), clock: .steady)
      }
    }
    return try AudioCodec(omiValue: await characteristic.read(timeout: .seconds(5)))
  }

  /// Writes the time as four bytes, the least significant first; older devices have no clock.
  public func setClock(of device: Device, unixSeconds: UInt32) async throws {
    guard device.services.contains(where: { $0.uuid == Self.uuid(0x30) }) else { return }
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: unixSeconds >> ($0 * 8)) }
    try await device.characteristic(Self.uuid(0x31), in: Self.uuid(0x30)).write(bytes, timeout: .seconds(5))
  }

  /// Reads its codec once more.
  public func probe(_ device: Device) async throws {
    let characteristic = try device.characteristic(Self.uuid(0x02), in: Self.uuid(0x00))
    _ = try await characteristic.read(timeout: LinkMachine.probeLimit)
  }
}
