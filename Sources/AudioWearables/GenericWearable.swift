public import AudioIngest
public import BlueZ

/// A device described by hand: a characteristic that notifies, a framing and a codec.
///
/// ```swift
/// let framing = try PacketFraming(header: 2, number: .init(offset: 0, width: 2))
/// let wearable = GenericWearable(service: "180a", characteristic: "2a29", framing: framing, codec: .pcm8k)
/// let recorder = WearableRecorder(wearable, at: adapter, into: try SegmentFolder(path: "recordings"))
/// try await recorder.run()
/// ```
public struct GenericWearable: Wearable {
  /// The service that the device advertises, and that sends the audio.
  public let advertisedServices: Set<BluetoothUUID>
  /// The service and the characteristic that send the audio.
  public let audio: (service: BluetoothUUID, characteristic: BluetoothUUID)
  /// The layout of the notifications.
  public let framing: PacketFraming
  private let codec: AudioCodec

  /// Creates a description of a device.
  public init(
    service: BluetoothUUID, characteristic: BluetoothUUID, framing: PacketFraming, codec: AudioCodec
  ) {
    advertisedServices = [service]
    audio = (service, characteristic)
    self.framing = framing
    self.codec = codec
  }

  /// Returns the codec that the device was described with.
  public func codec(of device: Device) -> AudioCodec { codec }

  /// Does nothing: the device has no known clock.
  public func setClock(of device: Device, unixSeconds: UInt32) {}

  /// Reads the device name, which every device has (Core Specification 3.C.12.1).
  /// - Returns: `nil`.
  /// - Throws: The errors of a read, if the device does not respond within 20 s.
  public func probe(_ device: Device) async throws -> AudioCodec? {
    _ = try await device.characteristic("2a00", in: "1800").read(timeout: ConnectionMachine.probeTimeout)
    return nil
  }
}
