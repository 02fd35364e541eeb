public import BlueZ

/// A kind of device that sends audio over notifications: how it is found, what it sends, and what it can be asked.
public protocol Wearable: Sendable {
  /// The services of which it advertises one.
  var advertisedServices: Set<BluetoothUUID> { get }
  /// The service and the characteristic that send the audio.
  var audio: (service: BluetoothUUID, characteristic: BluetoothUUID) { get }
  /// How its notifications are made.
  var framing: PacketFraming { get }

  /// Asks what it encodes with. It is subscribed to already: nothing of what it says is missed meanwhile.
  /// - Throws: ``AudioIngestError`` with code `.unknownCodec`, or what reading throws.
  func codec(of device: Device) async throws -> AudioCodec

  /// Looks which model it is. It is subscribed to already.
  /// - Throws: what reading throws.
  func profile(of device: Device) async throws -> WearableProfile

  /// Tells it the time, where it has a clock.
  /// - Throws: what writing throws.
  func setClock(of device: Device, unixSeconds: UInt32) async throws

  /// Has it answer something, which shows that the link lives while nobody speaks.
  /// - Returns: what it encodes with from now on, when the answer says so.
  /// - Throws: when it does not answer; ``AudioIngestError`` with code `.unknownCodec`.
  func probe(_ device: Device) async throws -> AudioCodec?
}

extension Wearable {
  /// Nothing is known of it.
  public func profile(of device: Device) async throws -> WearableProfile { WearableProfile() }
}

/// A device that is described by hand: a characteristic that notifies, a framing and a codec.
public struct GenericWearable: Wearable {
  /// The service that sends the audio.
  public let advertisedServices: Set<BluetoothUUID>
  /// The characteristic that it was described with, in that service.
  public let audio: (service: BluetoothUUID, characteristic: BluetoothUUID)
  /// The framing that it was described with.
  public let framing: PacketFraming
  private let codec: AudioCodec

  /// Describes a device.
  public init(
    service: BluetoothUUID, characteristic: BluetoothUUID, framing: PacketFraming, codec: AudioCodec
  ) {
    advertisedServices = [service]
    audio = (service, characteristic)
    (self.framing, self.codec) = (framing, codec)
  }

  /// The codec it was described with.
  public func codec(of device: Device) -> AudioCodec { codec }

  /// It has no clock that is known.
  public func setClock(of device: Device, unixSeconds: UInt32) {}

  /// Reads its name, which every device has (Core Specification 3.C.12.1).
  public func probe(_ device: Device) async throws -> AudioCodec? {
    _ = try await device.characteristic("2a00", in: "1800").read(timeout: LinkMachine.probeLimit)
    return nil
  }
}
