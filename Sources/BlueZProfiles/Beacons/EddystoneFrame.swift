/// A frame of an Eddystone beacon: service data of the UUID 0xFEAA.
///
/// ```swift
/// let frame = EddystoneFrame.url(try EddystoneURL("https://example.org/a"), power: -20)
/// if case .url(let link, _) = try EddystoneFrame(bytes: frame.bytes) { print(link.text) }
/// ```
///
/// A power is the transmit power that was measured at the beacon, 0 m away, in dBm.
public enum EddystoneFrame: Sendable, Hashable {
  /// An identifier that does not change, of a namespace and an instance.
  case uid(EddystoneUID, power: Int8)
  /// A link to a page about the place of the beacon.
  case url(EddystoneURL, power: Int8)
  /// A report on the beacon itself.
  case telemetry(EddystoneTelemetry)
  /// A report on the beacon itself, encrypted for its owner.
  case encryptedTelemetry(EncryptedTelemetry)
  /// An identifier of eight bytes that changes, and that the beacon's owner can resolve.
  case ephemeral(UInt64, power: Int8)

  /// The 16-bit UUID of the service data.
  public static let serviceUUID: UInt16 = 0xfeaa

  /// A report on a beacon, encrypted by AES-EAX with its identity key, which this library does not decrypt.
  public struct EncryptedTelemetry: Sendable, Hashable {
    /// The twelve bytes of the report, encrypted.
    public let ciphertext: [UInt8]
    /// The random part of the nonce.
    public let salt: UInt16
    /// The tag that authenticates the report.
    public let tag: UInt16

    /// Creates an encrypted report from its parts.
    /// - Throws: ``ProfileError`` with the code `.invalidArgument` when the ciphertext does not have twelve bytes.
    public init(ciphertext: [UInt8], salt: UInt16, tag: UInt16) throws(ProfileError) {
      guard ciphertext.count == 12 else {
        throw ProfileError(.invalidArgument, "Eddystone: encrypted telemetry has 12 bytes, not \(ciphertext.count)")
      }
      self.ciphertext = ciphertext
      self.salt = salt
      self.tag = tag
    }
  }

  private enum Kind: UInt8 {
    case uid = 0x00
    case url = 0x10
    case telemetry = 0x20
    case ephemeral = 0x30
  }

  /// Creates a frame from service data.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, `.tooLong`, `.invalidField`, or `.notSupported` for a frame or
  ///   a version of telemetry that this library does not know.
  public init(bytes: [UInt8]) throws(ProfileError) {
    var reader = ByteReader(bytes, "Eddystone frame")
    let type = try reader.integer(UInt8.self)
    switch Kind(rawValue: type) {
    case .uid:
      let power = try reader.integer(Int8.self)
      self = .uid(try EddystoneUID(&reader), power: power)
    case .url:
      let power = try reader.integer(Int8.self)
      self = .url(try EddystoneURL(&reader), power: power)
    case .telemetry: self = try Self.telemetry(&reader)
    case .ephemeral:
      let power = try reader.integer(Int8.self)
      self = .ephemeral(try reader.integer(UInt64.self).byteSwapped, power: power)
    case nil:
      throw ProfileError(.notSupported, "Eddystone frame: \(type) is no known type")
    }
    try reader.end()
  }

  private static func telemetry(_ reader: inout ByteReader) throws(ProfileError) -> Self {
    let version = try reader.integer(UInt8.self)
    switch version {
    case 0: return .telemetry(try EddystoneTelemetry(&reader))
    case 1:
      let ciphertext = try reader.bytes(12)
      let salt = try reader.integer(UInt16.self).byteSwapped
      let tag = try reader.integer(UInt16.self).byteSwapped
      return .encryptedTelemetry(try EncryptedTelemetry(ciphertext: ciphertext, salt: salt, tag: tag))
    default: throw ProfileError(.notSupported, "Eddystone frame: telemetry has no version \(version)")
    }
  }

  /// The service data to send.
  public var bytes: [UInt8] {
    switch self {
    case .uid(let uid, let power):
      // Two bytes are reserved for the future.
      [Kind.uid.rawValue, UInt8(bitPattern: power)] + uid.namespace + uid.instance + [0, 0]
    case .url(let url, let power): [Kind.url.rawValue, UInt8(bitPattern: power)] + url.bytes
    case .telemetry(let telemetry): [Kind.telemetry.rawValue, 0] + telemetry.bytes
    case .encryptedTelemetry(let report):
      [Kind.telemetry.rawValue, 1] + report.ciphertext + report.salt.byteSwapped.littleEndianBytes
        + report.tag.byteSwapped.littleEndianBytes
    case .ephemeral(let identifier, let power):
      [Kind.ephemeral.rawValue, UInt8(bitPattern: power)] + identifier.byteSwapped.littleEndianBytes
    }
  }
}

/// An identifier of an Eddystone beacon that does not change.
public struct EddystoneUID: Sendable, Hashable {
  /// The ten bytes that the beacons of one operator share.
  public let namespace: [UInt8]
  /// The six bytes of this beacon.
  public let instance: [UInt8]

  /// Creates an identifier from its two parts.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` when they do not have ten and six bytes.
  public init(namespace: [UInt8], instance: [UInt8]) throws(ProfileError) {
    guard namespace.count == 10, instance.count == 6 else {
      throw ProfileError(.invalidArgument, "Eddystone: a namespace has 10 bytes, and an instance 6")
    }
    self.namespace = namespace
    self.instance = instance
  }

  init(_ reader: inout ByteReader) throws(ProfileError) {
    namespace = try reader.bytes(10)
    instance = try reader.bytes(6)
    // Older beacons leave out the two bytes that are reserved for the future; their content is to be ignored.
    if !reader.rest.isEmpty { _ = try reader.bytes(2) }
  }
}

/// A report of an Eddystone beacon on itself.
public struct EddystoneTelemetry: Sendable, Hashable {
  /// The voltage of the battery in millivolts; 0 for a beacon without a battery.
  public var millivolts: UInt16
  /// The temperature in units of 1/256 °C; `nil` when the beacon does not measure it.
  public var temperature: Int16?
  /// The number of advertisements since the beacon was switched on.
  public var advertisements: UInt32
  /// The time since the beacon was switched on, in tenths of a second.
  public var uptime: UInt32
  private static let unmeasured = Int16.min

  /// The temperature in degrees Celsius; `nil` when the beacon does not measure it.
  public var celsius: Double? { temperature.map { Double($0) / 256 } }

  /// Creates a report; a temperature of −128 °C stands for none.
  public init(millivolts: UInt16, temperature: Int16?, advertisements: UInt32, uptime: UInt32) {
    self.millivolts = millivolts
    self.temperature = temperature == Self.unmeasured ? nil : temperature
    self.advertisements = advertisements
    self.uptime = uptime
  }

  init(_ reader: inout ByteReader) throws(ProfileError) {
    let millivolts = try reader.integer(UInt16.self).byteSwapped
    let temperature = try reader.integer(Int16.self).byteSwapped
    let advertisements = try reader.integer(UInt32.self).byteSwapped
    let uptime = try reader.integer(UInt32.self).byteSwapped
    self.init(millivolts: millivolts, temperature: temperature, advertisements: advertisements, uptime: uptime)
  }

  /// The fields of the frame, the most significant byte first.
  var bytes: [UInt8] {
    millivolts.byteSwapped.littleEndianBytes + (temperature ?? Self.unmeasured).byteSwapped.littleEndianBytes
      + advertisements.byteSwapped.littleEndianBytes + uptime.byteSwapped.littleEndianBytes
  }
}
