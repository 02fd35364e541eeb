/// A complete L2CAP packet of a connection.
public struct L2CAPFrame: Sendable, Hashable {
  /// The channel of the receiver: fixed ones are below 0x0040.
  public var channel: UInt16
  /// The content, without the L2CAP header.
  public var payload: ArraySlice<UInt8>

  /// Creates a packet from its fields.
  public init(channel: UInt16, payload: ArraySlice<UInt8>) {
    self.channel = channel
    self.payload = payload
  }

  /// The channel of the Attribute Protocol.
  public static let attributes: UInt16 = 4
  /// The channel of the signals of LE connections.
  public static let signals: UInt16 = 5
  /// The channel of the Security Manager.
  public static let security: UInt16 = 6
  /// The channel of the Security Manager over Bluetooth Classic.
  public static let classicSecurity: UInt16 = 7
  /// The first channel that is not fixed.
  public static let firstDynamic: UInt16 = 0x40

  static let headerLength = 4
}

/// Puts the pieces of L2CAP packets of one direction of a connection together.
///
/// It keeps one packet at most, which has up to 65,535 bytes.
public struct L2CAPAssembler: Sendable, Hashable {
  private var partial: [UInt8] = []
  /// The number of packets that were lost: a piece of them is missing, or there is too much of them.
  public private(set) var broken = 0

  /// Creates an assembler of a direction in which nothing came yet.
  public init() {}

  /// The number of bytes that wait for the rest of their packet.
  public var waiting: Int { partial.count }

  /// Adds a piece of a frame.
  /// - Returns: The packet that it completes; `nil` while more pieces are needed, or for a piece without its beginning.
  public mutating func add(_ fragment: ACLFragment) -> L2CAPFrame? {
    if !fragment.isContinuation {
      if !partial.isEmpty { broken += 1 }
      partial = []
      // Most packets are one piece, which needs no copy.
      if let length = Self.length(of: fragment.bytes), fragment.bytes.count == length {
        return Self.frame(fragment.bytes)
      }
    } else if partial.isEmpty {
      // The beginning was counted, or was before the recording.
      return nil
    }
    partial += fragment.bytes
    guard let length = Self.length(of: partial[...]) else { return nil }
    guard partial.count >= length else { return nil }
    defer { partial = [] }
    guard partial.count == length else {
      broken += 1
      return nil
    }
    return Self.frame(partial[...])
  }

  /// The length of the packet that begins with these bytes; `nil` while they do not say.
  private static func length(of bytes: ArraySlice<UInt8>) -> Int? {
    guard bytes.count >= L2CAPFrame.headerLength else { return nil }
    let start = bytes.startIndex
    return L2CAPFrame.headerLength + (Int(bytes[start]) | Int(bytes[start + 1]) << 8)
  }

  private static func frame(_ bytes: ArraySlice<UInt8>) -> L2CAPFrame {
    let start = bytes.startIndex
    return L2CAPFrame(
      channel: UInt16(bytes[start + 2]) | UInt16(bytes[start + 3]) << 8,
      payload: bytes[(start + L2CAPFrame.headerLength)...])
  }
}
