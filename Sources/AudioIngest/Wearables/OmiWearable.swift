public import BlueZ
internal import Timing

/// Omi and its relatives: Friend and Omi DevKit, Omi CV1, omiGlass and OpenGlass (their audio). They are found and heard in
/// the same way; ``OmiModel`` is what differs.
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

  /// Sees from its services which model it is, and how it stores audio.
  public func profile(of device: Device) async throws -> WearableProfile {
    let services = device.services
    let audio = services.first { $0.uuid == Self.uuid(0x00) }?.characteristics.map(\.uuid) ?? []
    let number = try await text("2a24", of: device)
    let names = [device.name, number].compactMap { $0 }
    let model = OmiModel(services: Set(services.map(\.uuid)), audioCharacteristics: Set(audio), names: names)
    var profile = WearableProfile()
    (profile.model, profile.tellsBattery, profile.smallestMTU) = (model.title, model.tellsBattery, model.smallestMTU)
    guard model.stores, services.contains(where: { $0.uuid == Storage.service }) else { return profile }
    let status = try await device.characteristic(Storage.status, in: Storage.service).read(timeout: .seconds(5))
    let firmware = try await text("2a26", of: device)
    profile.stored = OmiModel.storedFormat(status: status, firmware: firmware)
    if profile.stored == nil {
      let version = firmware.map { "its firmware \($0)" } ?? "its firmware"
      profile.remarks.append("\(version) stores audio in a way that nobody here knows; it stays on the device")
    }
    return profile
  }

  /// Where what is stored is asked for.
  enum Storage {
    static let service: BluetoothUUID = "30295780-4301-eabd-2904-2849adfeae43"
    static let control: BluetoothUUID = "30295781-4301-eabd-2904-2849adfeae43"
    static let status: BluetoothUUID = "30295782-4301-eabd-2904-2849adfeae43"
  }

  /// A text of the device information service (0x180A); `nil` when it has none.
  private func text(_ uuid: BluetoothUUID, of device: Device) async throws -> String? {
    let found = device.services.first { $0.uuid == "180a" }?.characteristics.first { $0.uuid == uuid }
    guard let value = try await found?.read(timeout: .seconds(5)) else { return nil }
    return String(decoding: value, as: UTF8.self)
  }

  /// Writes the time as four bytes, the least significant first; older devices have no clock.
  public func setClock(of device: Device, unixSeconds: UInt32) async throws {
    guard device.services.contains(where: { $0.uuid == Self.uuid(0x30) }) else { return }
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: unixSeconds >> ($0 * 8)) }
    try await device.characteristic(Self.uuid(0x31), in: Self.uuid(0x30)).write(bytes, timeout: .seconds(5))
  }

  /// Reads its codec once more; what was given is not asked for.
  public func probe(_ device: Device) async throws -> AudioCodec? {
    let characteristic = try device.characteristic(Self.uuid(0x02), in: Self.uuid(0x00))
    let value = try await characteristic.read(timeout: LinkMachine.probeLimit)
    return codec == nil ? try AudioCodec(omiValue: value) : nil
  }
}
