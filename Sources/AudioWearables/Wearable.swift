public import AudioIngest
public import BlueZ

/// A kind of device that sends audio in notifications: its services, its packets, and its answers.
///
/// ``OmiWearable`` and ``GenericWearable`` conform. A device that needs a command before it sends audio can conform, too:
///
/// ```swift
/// struct Pendant: Wearable {
///   let advertisedServices: Set<BluetoothUUID> = ["180a"]
///   let audio = (service: "180a" as BluetoothUUID, characteristic: "2a29" as BluetoothUUID)
///   let framing = PacketFraming.bare
///
///   func codec(of device: Device) async throws -> AudioCodec {
///     try await device.characteristic("2a24", in: "180a").write([1], timeout: .seconds(5))
///     return .opus20ms
///   }
///   func setClock(of device: Device, unixSeconds: UInt32) async throws {}
///   func probe(_ device: Device) async throws -> AudioCodec? {
///     _ = try await device.characteristic("2a00", in: "1800").read(timeout: .seconds(5))
///     return nil
///   }
/// }
/// ```
public protocol Wearable: Sendable {
  /// The services of which the device advertises at least one.
  var advertisedServices: Set<BluetoothUUID> { get }
  /// The service and the characteristic that send the audio.
  var audio: (service: BluetoothUUID, characteristic: BluetoothUUID) { get }
  /// The layout of the notifications.
  var framing: PacketFraming { get }

  /// Reads the codec of a connected device.
  ///
  /// The recorder has subscribed to the audio already, so that none is lost meanwhile.
  /// - Throws: `AudioIngestError` with code `.unknownCodec`; the errors of a read.
  func codec(of device: Device) async throws -> AudioCodec

  /// Reads the model of a connected device, and its capabilities.
  /// - Throws: The errors of a read.
  func profile(of device: Device) async throws -> WearableProfile

  /// Sets the clock of a connected device, if it has one.
  /// - Throws: The errors of a write.
  func setClock(of device: Device, unixSeconds: UInt32) async throws

  /// Performs an exchange with a connected device that sends no audio, to find out if it still responds.
  /// - Returns: The codec from now on, if the response contains it.
  /// - Throws: Any error if the device does not respond; `AudioIngestError` with code `.unknownCodec`.
  func probe(_ device: Device) async throws -> AudioCodec?
}

extension Wearable {
  /// Returns an empty profile: nothing is known about the model.
  public func profile(of device: Device) async throws -> WearableProfile { WearableProfile() }
}

/// The differences between the models of a kind of device, known once it is connected.
///
/// ```swift
/// var profile = WearableProfile()
/// profile.model = "Pendant"
/// profile.smallestMTU = 100
/// ```
public struct WearableProfile: Sendable, Hashable {
  /// The name of the model, for display; `nil` if it is unknown.
  public var model: String?
  /// A Boolean value that indicates whether the battery level is a measured value.
  public var reportsBattery = true
  /// The smallest ATT MTU over which all audio fits, in bytes; `nil` if any MTU suffices.
  public var smallestMTU: Int?
  /// The service with stored audio; `nil` if the device stores none, or in an unsupported format.
  public var store: StoredAudioService?
  /// Remarks about the device, for display.
  public var remarks: [String] = []

  /// Creates a profile of an unknown device.
  public init() {}
}

/// The service over which a device offers the audio that it has stored while not connected.
///
/// ```swift
/// let store = StoredAudioService(
///   .ring, service: "30295780-4301-eabd-2904-2849adfeae43", control: "30295781-4301-eabd-2904-2849adfeae43",
///   status: "30295782-4301-eabd-2904-2849adfeae43")
/// print(store.format)
/// ```
public struct StoredAudioService: Sendable, Hashable {
  /// The format of the stored audio.
  public var format: StoredFormat
  /// The UUID of the service.
  public var service: BluetoothUUID
  /// The characteristic that accepts commands, and sends records as notifications.
  public var control: BluetoothUUID
  /// The characteristic with the size of the store.
  public var status: BluetoothUUID

  /// Creates a description from the format and the UUIDs.
  public init(_ format: StoredFormat, service: BluetoothUUID, control: BluetoothUUID, status: BluetoothUUID) {
    self.format = format
    self.service = service
    self.control = control
    self.status = status
  }
}
