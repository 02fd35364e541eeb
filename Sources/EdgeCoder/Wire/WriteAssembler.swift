/// Lays the writes of one peer to the request characteristic into the byte stream they make up.
///
/// A plain write (offset 0) is the next piece of the stream. A long write arrives as one attribute value in fragments,
/// each with the offset at which it lies *in that value*; BlueZ joins adjoining fragments itself and hands the value
/// over as one write with offset 0, but fragments with gaps between them come one by one. The rules:
///
/// - offset 0 begins a new value; fragments of the former one that still wait for a gap to fill are dropped.
/// - a fragment at or before the end of what came so far continues the value; bytes it repeats were passed on already
///   and are not passed on again.
/// - a fragment behind the end waits until the gap is filled.
/// - a value is at most 512 bytes (the limit of a GATT attribute); a fragment that would end behind is refused.
///
/// A value type without clock or I/O: writes go in, stream bytes come out.
public struct WriteAssembler: Sendable {
  /// What one write led to.
  public enum Outcome: Sendable, Equatable {
    /// The next bytes of the stream; empty when the fragment repeated what had come or waits for a gap to fill.
    case bytes([UInt8])
    /// The fragment does not fit a GATT value.
    case refused
  }

  /// The longest value of a GATT attribute, in bytes (Bluetooth Core, Vol 3, Part F, 3.2.9).
  public static let valueLimit = 512

  /// Bytes dropped because the gap before them was never filled.
  public private(set) var droppedBytes = 0

  /// Bytes of the current value passed on so far.
  private var end = 0
  /// Fragments behind a gap, by offset. At most 512 offsets of at most 512 bytes.
  private var waiting: [Int: [UInt8]] = [:]

  /// Makes an assembler for a new connection.
  public init() {}

  /// Takes one write.
  /// - Parameters:
  ///   - bytes: the bytes written.
  ///   - offset: where they lie in the value; 0 for a plain write.
  public mutating func receive(_ bytes: [UInt8], offset: Int = 0) -> Outcome {
    if offset == 0 {
      drop()
      end = bytes.count
      return .bytes(bytes)
    }
    guard offset > 0, offset <= Self.valueLimit, bytes.count <= Self.valueLimit - offset else { return .refused }
    if offset > end {
      if bytes.count > waiting[offset]?.count ?? 0 { waiting[offset] = bytes }
      return .bytes([])
    }
    var output = Array(bytes.dropFirst(end - offset))
    end += output.count
    while let next = waiting.keys.filter({ $0 <= end }).min(), let fragment = waiting.removeValue(forKey: next) {
      let fresh = fragment.dropFirst(end - next)
      output += fresh
      end += fresh.count
    }
    return .bytes(output)
  }

  /// Forgets everything, for example on disconnect.
  public mutating func reset() {
    drop()
    end = 0
  }

  private mutating func drop() {
    droppedBytes += waiting.values.reduce(0) { $0 + $1.count }
    waiting.removeAll()
  }
}
