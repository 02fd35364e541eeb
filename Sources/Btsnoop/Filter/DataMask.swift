/// Finds what to remove from the data of one direction of a connection, also where packets come in pieces.
struct DataMask: Sendable {
  /// One direction of a connection.
  struct Direction: Hashable, Sendable {
    var place: TrafficDecoder.Place
    var isFromHost: Bool
  }

  /// The facts on which the decision depends besides the packet.
  struct Context {
    var keepsKeys: Bool
    var masksPayloads: Bool
    /// A Boolean value that indicates whether the peer has asked for declarations of characteristics.
    var isDeclaration: Bool
    /// The handles of client configurations.
    var configurations: Set<UInt16>
  }

  /// The first bytes of the present packet, with its L2CAP header.
  private var head: [UInt8] = []
  /// The number of bytes of the packet that came.
  private var offset = 0
  /// A Boolean value that indicates whether the beginning of the packet came.
  private var hasBeginning = false
  /// The number of bytes that are still missing of the message (SDU) on each channel.
  private var missing: [UInt16: Int] = [:]
  /// A Boolean value that indicates whether the last request for a type was one for declarations.
  private(set) var asksForDeclarations = false

  /// The header, opcode, range and type of a request for declarations.
  private static let headLength = 11
  private static let channelLimit = 64

  /// Adds a piece.
  /// - Returns: The ranges of the piece to remove.
  mutating func add(_ fragment: ACLFragment, _ context: Context) -> [Range<Int>] {
    if !fragment.isContinuation {
      head = []
      offset = 0
      hasBeginning = true
    }
    let count = fragment.bytes.count
    // Without its beginning it can be anything.
    guard hasBeginning, offset <= 0x1_0003 else { return [0..<count] }
    head += fragment.bytes.prefix(max(Self.headLength - head.count, 0))
    defer { offset += count }
    noteRequest()
    guard let start = firstRemoved(context) else { return [] }
    let first = max(start - offset, 0)
    return first < count ? [first..<count] : []
  }

  private mutating func noteRequest() {
    guard head.count > 4, head[2] == 4, head[3] == 0, head[4] == 0x08 else { return }
    // A type of two bytes, which is Include or Characteristic.
    asksForDeclarations = head.count == 11 && head[0] == 7 && head[10] == 0x28 && (head[9] == 2 || head[9] == 3)
  }

  /// Returns the offset in the packet from which on it is removed; `nil` if all of it stays.
  private mutating func firstRemoved(_ context: Context) -> Int? {
    // What is not known yet is not in this piece: header and opcode always stay.
    guard head.count > 4 else { return 4 }
    let channel = UInt16(head[2]) | UInt16(head[3]) << 8
    switch channel {
    case L2CAPFrame.security, L2CAPFrame.classicSecurity:
      // Confirm, random, and the keys: with the first two, the key of legacy pairing can be computed.
      return !context.keepsKeys && [0x03, 0x04, 0x06, 0x07, 0x08, 0x0a].contains(head[4]) ? 5 : nil
    case L2CAPFrame.attributes: return context.masksPayloads ? firstOfValue(context) : nil
    case L2CAPFrame.firstDynamic...: return context.masksPayloads ? firstOfMessage(channel) : nil
    default: return nil
    }
  }

  private func firstOfValue(_ context: Context) -> Int? {
    switch head[4] {
    case 0x0b, 0x0d, 0x0f, 0x21, 0x23: return 5
    case 0x09: return context.isDeclaration ? nil : 8
    case 0x16, 0x17: return 9
    case 0x1b, 0x1d, 0xd2: return 7
    case 0x12, 0x52:
      guard head.count > 6 else { return 7 }
      return context.configurations.contains(UInt16(head[5]) | UInt16(head[6]) << 8) ? nil : 7
    default: return nil
    }
  }

  /// The first packet of a message has the length of the message before its content.
  private mutating func firstOfMessage(_ channel: UInt16) -> Int {
    // Once for each packet: with its first piece that has the length.
    guard offset < 6, head.count >= 6 else { return missing[channel, default: 0] > 0 || offset >= 6 ? 4 : 6 }
    let size = Int(head[0]) | Int(head[1]) << 8
    let left = missing[channel, default: 0]
    if missing.count >= Self.channelLimit { missing = [:] }
    if left > 0 {
      missing[channel] = max(left - size, 0)
      return 4
    }
    missing[channel] = max((Int(head[4]) | Int(head[5]) << 8) - (size - 2), 0)
    return 6
  }
}
