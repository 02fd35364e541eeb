/// Where in a notification the codec's bytes are, and what stands around them.
public struct PacketFraming: Sendable, Hashable, Codable {
  /// A number that each packet carries, so that a missing one shows.
  public struct Number: Sendable, Hashable, Codable {
    /// Its first byte, from the beginning of the notification.
    public var offset: Int
    /// Its length: 1 or 2 bytes, the less significant one first.
    public var width: Int

    /// Places a number.
    public init(offset: Int, width: Int) {
      self.offset = offset
      self.width = width
    }
  }

  /// The bytes before the codec's.
  public var header: Int
  /// The bytes behind the codec's.
  public var footer: Int
  /// The number of the packet; without one no loss can be seen.
  public var number: Number?
  /// The byte that says which piece of its frame a packet is, the first being 0. Without one a packet is whole frames.
  public var fragmentIndex: Int?
  /// The length of each frame where a packet has several; without one it has one.
  public var frameLength: Int?
  /// A notification shorter than this is the last of its frame. Without it a frame is whole when the next one begins.
  public var fullNotification: Int?

  /// Describes a framing.
  /// - Throws: ``AudioIngestError`` with code `.invalidArgument` when a field lies outside the header.
  public init(
    header: Int, footer: Int = 0, number: Number? = nil, fragmentIndex: Int? = nil, frameLength: Int? = nil,
    fullNotification: Int? = nil
  ) throws(AudioIngestError) {
    func check(_ isRight: Bool, _ what: String) throws(AudioIngestError) {
      if !isRight { throw AudioIngestError(.invalidArgument, what) }
    }
    let bytes = 0...PacketFraming.longestNotification
    try check(bytes.contains(header) && bytes.contains(footer), "a header or footer of \(header) and \(footer) bytes")
    if let number {
      try check((1...2).contains(number.width), "a packet number of \(number.width) bytes")
      try check(number.offset >= 0 && number.offset <= header - number.width, "a packet number behind the header")
    }
    if let fragmentIndex { try check(0..<header ~= fragmentIndex, "a fragment index behind the header") }
    if let frameLength { try check(1...PacketFraming.longestFrame ~= frameLength, "frames of \(frameLength) bytes") }
    try check(fragmentIndex == nil || frameLength == nil, "frames in pieces and several in a packet at once")
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

  /// Omi, Friend and OpenGlass: packet number, index in the frame, codec's bytes. The firmware sends no audio over a
  /// link that takes fewer than 100 bytes, so anything shorter ends its frame.
  public static let omi = PacketFraming(3, 0, Number(offset: 0, width: 2), 2, nil, 100)

  /// A notification that is one frame and nothing else.
  public static let bare = PacketFraming(0, 0, nil, nil, nil, nil)

  /// More than ATT can carry (512 bytes); what is longer is damaged.
  static let longestNotification = 4096
  /// More than any codec here makes of 120 ms.
  static let longestFrame = 16_384

  /// Takes a notification apart.
  /// - Returns: `nil` when it is too short for the framing, or longer than any notification.
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

/// A notification with audio, taken apart.
struct AudioPacket: Hashable {
  /// 0 where packets have none.
  var number: UInt16 = 0
  /// Which piece of its frame it is.
  var index: UInt8 = 0
  /// Whether it is known to end its frame.
  var isLast = false
  /// The codec's bytes.
  var payload: ArraySlice<UInt8>

  /// What is remembered of a packet.
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
