/// A state machine that turns the writes of one central to the request characteristic into a byte stream.
///
/// A write at offset 0 is the next part of the stream. A prepared write arrives as one attribute value in fragments, each
/// with its offset *in that value*; BlueZ joins adjoining fragments itself and delivers the value as one write at offset
/// 0, but delivers fragments with gaps between them one by one. The rules:
///
/// - Offset 0 starts a new value. Fragments of the previous value that wait behind a gap are dropped.
/// - A fragment that starts at or before the end of the value continues the value. Repeated bytes are ignored.
/// - A fragment that starts behind the end waits until the gap is filled.
/// - A value has at most 512 bytes, the limit of a GATT attribute; a fragment that exceeds the limit is refused.
///
/// ```swift
/// var assembler = WriteAssembler()
/// print(assembler.receive([1, 2]))  // bytes([1, 2])
/// print(assembler.receive([2, 3], offset: 1))  // bytes([3])
/// ```
public struct WriteAssembler: Sendable {
  /// The result of adding one write.
  public enum Outcome: Sendable, Equatable {
    /// The next bytes of the stream; empty for a fragment that repeats bytes or waits behind a gap.
    case bytes([UInt8])
    /// A refusal: the fragment exceeds the limit of an attribute value.
    case refused
  }

  /// The limit on an attribute value, 512 bytes (Bluetooth Core, Vol 3, Part F, 3.2.9).
  public static let valueLimit = 512

  /// The number of bytes dropped because the gap before them was never filled.
  public private(set) var droppedBytes = 0

  /// The number of bytes of the current value that were returned so far.
  private var end = 0
  /// The fragments behind a gap, by offset: at most 512 offsets of at most 512 bytes.
  private var waiting: [Int: [UInt8]] = [:]

  /// Creates an assembler for a new connection.
  public init() {}

  /// Adds one write and returns the bytes of the stream that it completes.
  /// - Parameters:
  ///   - bytes: The bytes that the central wrote.
  ///   - offset: The position of the bytes in the value, 0 to 512; 0 unless the write is prepared.
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

  /// Discards all state, for example when the central disconnects.
  public mutating func reset() {
    drop()
    end = 0
  }

  private mutating func drop() {
    droppedBytes += waiting.values.reduce(0) { $0 + $1.count }
    waiting.removeAll()
  }
}
