/// Makes the bytes of a btsnoop file from records.
///
/// ```swift
/// let writer = BtsnoopWriter(.monitor)
/// var bytes = writer.header
/// let reset = CaptureRecord(time: 0, adapter: 0, kind: .command, bytes: [0x03, 0x0c, 0])
/// bytes += writer.bytes(of: reset) ?? []
/// ```
public struct BtsnoopWriter: Sendable {
  /// The kind of the file.
  public let format: BtsnoopFormat

  /// Creates a writer for a kind of file; Wireshark and btmon read `monitor` and `uart`.
  public init(_ format: BtsnoopFormat = .monitor) { self.format = format }

  /// The first 16 bytes of the file.
  public var header: [UInt8] {
    BtsnoopFormat.magic + BtsnoopFormat.version.bigEndianBytes + format.rawValue.bigEndianBytes
  }

  /// Returns the bytes of a record; `nil` for a record that such a file cannot hold, such as a notice about a
  /// controller in a file of one controller's packets, or more than 131,072 bytes.
  public func bytes(of record: CaptureRecord) -> [UInt8]? {
    guard let (flags, type) = header(of: record) else { return nil }
    let added = type == nil ? 0 : 1
    guard record.bytes.count + added <= BtsnoopFormat.longestRecord else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(BtsnoopFormat.recordHeaderLength + added + record.bytes.count)
    bytes += UInt32(clamping: max(record.originalLength, record.bytes.count) + added).bigEndianBytes
    bytes += UInt32(clamping: record.bytes.count + added).bigEndianBytes
    bytes += flags.bigEndianBytes
    bytes += UInt32(clamping: record.drops).bigEndianBytes
    bytes += UInt64(bitPattern: record.time &+ BtsnoopFormat.epoch).bigEndianBytes
    if let type { bytes.append(type) }
    return bytes + record.bytes
  }

  /// The flags of the record, and the type that comes before its bytes.
  private func header(of record: CaptureRecord) -> (flags: UInt32, type: UInt8?)? {
    if format == .monitor { return (UInt32(record.adapter) << 16 | UInt32(record.kind.rawValue), nil) }
    guard let type = record.kind.uartType, format == .uart || [1, 2, 4].contains(type) else { return nil }
    let isControl = type == 1 || type == 4
    return ((record.kind.isReceived ? 1 : 0) | (isControl ? 2 : 0), format == .uart ? type : nil)
  }
}
