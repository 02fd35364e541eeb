/// An advertisement in the format BTHome, version 2: service data of the UUID 0xFCD2.
///
/// ```swift
/// let sent = try BTHomeAdvertisement([BTHomeReading(21.37, of: .temperature), .state(.openWindow, true)])
/// print(sent.bytes)  // [64, 2, 89, 8, 45, 1]
/// if case .readings(let readings, _) = try BTHomeAdvertisement(bytes: sent.bytes).content { print(readings) }
/// ```
public struct BTHomeAdvertisement: Sendable, Hashable {
  /// The 16-bit UUID of the service data.
  public static let serviceUUID: UInt16 = 0xfcd2

  /// The content of an advertisement, open or encrypted.
  public enum Content: Sendable, Hashable {
    /// Readings in the order of their object IDs, and the bytes from the first object on whose ID is not known.
    case readings([BTHomeReading], unknown: [UInt8])
    /// Readings encrypted by AES-CCM with the key of the device, which this library does not decrypt.
    case encrypted(Encrypted)
  }

  /// Encrypted readings, with what their decryption needs beside the key and the address of the device.
  public struct Encrypted: Sendable, Hashable {
    /// The readings in their encrypted form.
    public let ciphertext: [UInt8]
    /// The counter of the device, a part of the nonce; it never goes down, which refuses a replay.
    public let counter: UInt32
    /// The four bytes that authenticate the readings.
    public let tag: [UInt8]

    /// Creates encrypted readings from their parts.
    /// - Throws: ``ProfileError`` with the code `.invalidArgument` when the tag does not have four bytes.
    public init(ciphertext: [UInt8], counter: UInt32, tag: [UInt8]) throws(ProfileError) {
      guard tag.count == 4 else {
        throw ProfileError(.invalidArgument, "BTHome: a tag has 4 bytes, not \(tag.count)")
      }
      self.ciphertext = ciphertext
      self.counter = counter
      self.tag = tag
    }
  }

  /// The content, open or encrypted.
  public let content: Content
  /// A Boolean value that indicates whether the device advertises only when something happens.
  public let isTriggered: Bool
  /// The service data to send.
  public let bytes: [UInt8]

  private static let version: UInt8 = 2
  private static let encryptedFlag: UInt8 = 0x01
  private static let addressFlag: UInt8 = 0x02
  private static let triggerFlag: UInt8 = 0x04

  /// Creates an advertisement of readings, which are put into the order of their object IDs.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` for a reading that cannot be sent.
  public init(_ readings: [BTHomeReading], isTriggered: Bool = false) throws(ProfileError) {
    try self.init(readings, unknown: [], isTriggered: isTriggered)
  }

  /// Creates an advertisement of encrypted readings.
  public init(_ encrypted: Encrypted, isTriggered: Bool = false) {
    content = .encrypted(encrypted)
    self.isTriggered = isTriggered
    let flags = Self.version << 5 | Self.encryptedFlag | (isTriggered ? Self.triggerFlag : 0)
    bytes = [flags] + encrypted.ciphertext + encrypted.counter.littleEndianBytes + encrypted.tag
  }

  private init(_ readings: [BTHomeReading], unknown: [UInt8], isTriggered: Bool) throws(ProfileError) {
    // The sort is stable: of two temperatures, the first stays the first.
    let sorted = readings.sorted { $0.id < $1.id }
    var bytes = [Self.version << 5 | (isTriggered ? Self.triggerFlag : 0)]
    for reading in sorted { bytes += try reading.bytes() }
    content = .readings(sorted, unknown: unknown)
    self.isTriggered = isTriggered
    self.bytes = bytes + unknown
  }

  /// Creates an advertisement from service data.
  ///
  /// The size of an object whose ID is not known is not known either, so that reading ends there; newer objects have
  /// higher IDs and come last.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, `.invalidField`, or `.notSupported` for another version, or for
  ///   the address that drafts of the format had before the readings.
  public init(bytes: [UInt8]) throws(ProfileError) {
    var reader = ByteReader(bytes, "BTHome")
    let flags = try reader.integer(UInt8.self)
    guard flags >> 5 == Self.version else {
      throw ProfileError(.notSupported, "BTHome: version \(flags >> 5) is not supported, only \(Self.version)")
    }
    guard flags & Self.addressFlag == 0 else {
      throw ProfileError(.notSupported, "BTHome: an address before the readings is not supported")
    }
    let isTriggered = flags & Self.triggerFlag != 0
    if flags & Self.encryptedFlag != 0 {
      guard reader.rest.count >= 8 else {
        throw ProfileError(.tooShort, "BTHome: \(bytes.count) bytes are too few for encrypted readings")
      }
      let ciphertext = try reader.bytes(reader.rest.count - 8)
      let counter = try reader.integer(UInt32.self)
      let encrypted = try Encrypted(ciphertext: ciphertext, counter: counter, tag: try reader.bytes(4))
      self.init(encrypted, isTriggered: isTriggered)
      return
    }
    var readings: [BTHomeReading] = []
    while !reader.rest.isEmpty, let reading = try BTHomeReading.next(&reader) { readings.append(reading) }
    try self.init(readings, unknown: Array(reader.rest), isTriggered: isTriggered)
  }
}
