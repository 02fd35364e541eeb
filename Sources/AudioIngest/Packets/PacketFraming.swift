/// The layout of a notification: its header, its footer, and the codec's bytes between them.
///
/// ```swift
/// let framing = try PacketFraming(header: 3, number: .init(offset: 0, width: 2), fragmentIndex: 2)
/// let reassembler = FrameReassembler(framing)
/// print(reassembler.counters.notifications)  // 0
/// ```
public struct PacketFraming: Sendable, Hashable, Codable {
  /// The position of the packet number, which shows that packets are missing.
  public struct Number: Sendable, Hashable, Codable {
    /// The offset of its first byte from the start of the notification.
    public var offset: Int
    /// The length of the number: 1 or 2 bytes, little-endian.
    public var width: Int

    /// Creates a position from the offset and the length.
    public init(offset: Int, width: Int) {
      self.offset = offset
      self.width = width
    }
  }

  /// The number of bytes before the codec's bytes, 0 to 4096.
  public var header: Int
  /// The number of bytes behind the codec's bytes, 0 to 4096.
  public var footer: Int
  /// The position of the packet number; `nil` if packets have none, and losses cannot be found.
  public var number: Number?
  /// The offset of the byte with the fragment's index within its frame, from 0; `nil` if packets hold complete frames.
  public var fragmentIndex: Int?
  /// The length of each frame in bytes if a packet has several, 1 to 16,384; `nil` if it has one.
  public var frameLength: Int?
  /// The length in bytes below which a notification is the last of its frame.
  ///
  /// With `nil` a frame is complete when the next one starts.
  public var fullNotification: Int?

  /// Creates a framing from the layout of its packets.
  /// - Throws: ``AudioIngestError`` with code `.invalidArgument` for a length outside its range, or a field outside the
  ///   header.
  public init(
    header: Int, footer: Int = 0, number: Number? = nil, fragmentIndex: Int? = nil, frameLength: Int? = nil,
    fullNotification: Int? = nil
  ) throws(AudioIngestError) {
    func check(_ name: String, _ value: Int, in range: ClosedRange<Int>) throws(AudioIngestError) {
      guard !range.contains(value) else { return }
      throw AudioIngestError(
        .invalidArgument, "\(name) is \(value); allowed: \(range.lowerBound) to \(range.upperBound)")
    }
    try check("the header's length", header, in: 0...PacketFraming.longestNotification)
    try check("the footer's length", footer, in: 0...PacketFraming.longestNotification)
    if let number {
      try check("the packet number's length", number.width, in: 1...2)
      guard header >= number.width else {
        throw AudioIngestError(
          .invalidArgument,
          "the header has \(header) bytes; a packet number of \(number.width) bytes needs at least as many")
      }
      try check("the packet number's offset", number.offset, in: 0...(header - number.width))
    }
    if let fragmentIndex {
      guard header > 0 else {
        throw AudioIngestError(.invalidArgument, "the header is empty; a fragment index needs at least 1 byte")
      }
      try check("the fragment index's offset", fragmentIndex, in: 0...(header - 1))
    }
    if let frameLength { try check("the frame length", frameLength, in: 1...PacketFraming.longestFrame) }
    guard fragmentIndex == nil || frameLength == nil else {
      throw AudioIngestError(
        .invalidArgument, "a fragment index and a frame length exclude each other; allowed: one of them")
    }
    self.init(header, footer, number, fragmentIndex, frameLength, fullNotification)
  }

  private init(
    _ header: Int, _ footer: Int, _ number: Number?, _ fragmentIndex: Int?, _ frameLength: Int?,
    _ fullNotification: Int?
  ) {
    self.header = header
    self.footer = footer
    self.number = number
    self.fragmentIndex = fragmentIndex
    self.frameLength = frameLength
    self.fullNotification = fullNotification
  }

  /// The framing of Omi, Friend and OpenGlass: packet number, fragment index, codec's bytes.
  ///
  /// The firmware sends no audio over a connection whose packets have fewer than 100 bytes, so a shorter packet ends its
  /// frame.
  public static let omi = PacketFraming(3, 0, Number(offset: 0, width: 2), 2, nil, 100)

  /// The framing of notifications that are one frame each, without header or footer.
  public static let bare = PacketFraming(0, 0, nil, nil, nil, nil)

  /// The longest accepted notification in bytes; ATT carries at most 512.
  static let longestNotification = 4096
  /// The longest accepted frame in bytes: more than any supported codec produces for 120 ms.
  static let longestFrame = 16_384

  /// Parses a notification.
  /// - Returns: `nil` if it is too short for the framing, or longer than any notification.
  func packet(in value: [UInt8]) -> AudioPacket? {
    guard value.count <= Self.longestNotification, value.count >= header + footer else { return nil }
    var packet = AudioPacket(payload: value[header..<(value.count - footer)])
    if let number {
      packet.number = UInt16(value[number.offset])
      if number.width == 2 { packet.number |= UInt16(value[number.offset + 1]) << 8 }
    }
    if let fragmentIndex { packet.index = value[fragmentIndex] }
    packet.isLast = fragmentIndex == nil || fullNotification.map { value.count < $0 } ?? false
    return packet
  }
}

/// A parsed notification with audio.
struct AudioPacket: Hashable {
  /// The packet number; 0 where packets have none.
  var number: UInt16 = 0
  /// The index of the fragment within its frame.
  var index: UInt8 = 0
  /// A Boolean value that indicates whether the packet is known to end its frame.
  var isLast = false
  /// The bytes of the codec.
  var payload: ArraySlice<UInt8>

  /// The identity of an earlier packet, by which a duplicate is found.
  struct Seen: Hashable {
    var number: UInt16
    var index: UInt8
    var length: Int
    var hash: UInt64

    init(_ packet: AudioPacket) {
      number = packet.number
      index = packet.index
      length = packet.payload.count
      hash = packet.payload.fnv1a
    }
  }
}
