public import AudioIngest
public import BlueZ
internal import Timing

/// The Omi family: Friend and Omi DevKit, Omi CV1, and the audio of omiGlass and OpenGlass.
///
/// All of them are found and recorded in the same way; ``OmiModel`` describes the differences.
///
/// ```swift
/// let folder = try SegmentFolder(path: "recordings")
/// let recorder = WearableRecorder(OmiWearable(), at: adapter, into: folder)
/// try await recorder.run()
/// ```
public struct OmiWearable: Wearable {
  private static let codecAttempts = 3

  /// The audio service, which all models advertise.
  public var advertisedServices: Set<BluetoothUUID> { [Self.uuid(0x00)] }
  /// The audio service, and its characteristic that sends the audio.
  public var audio: (service: BluetoothUUID, characteristic: BluetoothUUID) { (Self.uuid(0x00), Self.uuid(0x01)) }
  /// The layout of the notifications: packet number, fragment index, codec's bytes.
  public var framing: PacketFraming { .omi }

  private let codec: AudioCodec?

  /// Creates a description of the family.
  /// - Parameter codec: The codec of a device that does not report it, or reports a wrong one; `nil` to read it from the
  ///   device.
  public init(codec: AudioCodec? = nil) { self.codec = codec }

  /// Returns a UUID of the family: only the fourth octet differs.
  package static func uuid(_ number: Int) -> BluetoothUUID {
    let digits = (number < 16 ? "0" : "") + String(number, radix: 16)
    return BluetoothUUID(stringLiteral: "19b100\(digits)-e8f2-537e-4f6c-d104768a1214")
  }

  /// Reads the codec characteristic, in up to three attempts; returns the codec of ``init(codec:)`` without reading.
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

  /// Returns the model, by the device's services, and its store of audio.
  public func profile(of device: Device) async throws -> WearableProfile {
    let services = device.services
    let audio = services.first { $0.uuid == Self.uuid(0x00) }?.characteristics.map(\.uuid) ?? []
    let number = try await text("2a24", of: device)
    let names = [device.name, number].compactMap { $0 }
    let model = OmiModel(services: Set(services.map(\.uuid)), audioCharacteristics: Set(audio), names: names)
    var profile = WearableProfile()
    profile.model = model.title
    profile.reportsBattery = model.reportsBattery
    profile.smallestMTU = model.smallestMTU
    guard model.storesAudio, services.contains(where: { $0.uuid == Storage.service }) else { return profile }
    let status = try await device.characteristic(Storage.status, in: Storage.service).read(timeout: .seconds(5))
    let firmware = try await text("2a26", of: device)
    if let format = OmiModel.storedFormat(status: status, firmware: firmware) {
      profile.store = StoredAudioService(
        format, service: Storage.service, control: Storage.control, status: Storage.status)
    } else {
      let version = firmware.map { "firmware \($0)" } ?? "this firmware"
      profile.remarks.append(
        "the format in which \(version) stores audio is unsupported; the audio stays on the device")
    }
    return profile
  }

  /// The UUIDs of the storage service.
  package enum Storage {
    package static let service: BluetoothUUID = "30295780-4301-eabd-2904-2849adfeae43"
    package static let control: BluetoothUUID = "30295781-4301-eabd-2904-2849adfeae43"
    package static let status: BluetoothUUID = "30295782-4301-eabd-2904-2849adfeae43"
  }

  /// Returns a string of the device information service (0x180A); `nil` if the device has none.
  private func text(_ uuid: BluetoothUUID, of device: Device) async throws -> String? {
    let found = device.services.first { $0.uuid == "180a" }?.characteristics.first { $0.uuid == uuid }
    guard let value = try await found?.read(timeout: .seconds(5)) else { return nil }
    return String(decoding: value, as: UTF8.self)
  }

  /// Writes the time as four bytes, little-endian; older devices have no clock.
  public func setClock(of device: Device, unixSeconds: UInt32) async throws {
    guard device.services.contains(where: { $0.uuid == Self.uuid(0x30) }) else { return }
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: unixSeconds >> ($0 * 8)) }
    try await device.characteristic(Self.uuid(0x31), in: Self.uuid(0x30)).write(bytes, timeout: .seconds(5))
  }

  /// Reads the codec characteristic again.
  /// - Returns: The codec; `nil` if ``init(codec:)`` specified one.
  public func probe(_ device: Device) async throws -> AudioCodec? {
    let characteristic = try device.characteristic(Self.uuid(0x02), in: Self.uuid(0x00))
    let value = try await characteristic.read(timeout: ConnectionMachine.probeTimeout)
    return codec == nil ? try AudioCodec(omiValue: value) : nil
  }
}
