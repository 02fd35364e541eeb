/// A packet between a host and its Bluetooth controller, or a notice about them, at an instant.
///
/// ```swift
/// let scan = CaptureRecord(time: 0, adapter: 0, kind: .command, bytes: [0x0c, 0x20, 2, 1, 0])
/// print(scan.kind)  // command
/// ```
public struct CaptureRecord: Sendable, Hashable {
  /// The kind of a record, by the numbers of the kernel's monitor channel (include/net/bluetooth/hci_mon.h).
  public struct Kind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The number of the kind.
    public let rawValue: UInt16

    /// Creates a kind from its number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// A controller that was added: its kind, bus, address and name.
    public static let newIndex = Kind(rawValue: 0)
    /// A controller that was removed.
    public static let deletedIndex = Kind(rawValue: 1)
    /// A command of the host to its controller.
    public static let command = Kind(rawValue: 2)
    /// An event of the controller to its host.
    public static let event = Kind(rawValue: 3)
    /// Data that the host sends over a connection.
    public static let sentData = Kind(rawValue: 4)
    /// Data that the host receives over a connection.
    public static let receivedData = Kind(rawValue: 5)
    /// Voice of Bluetooth Classic that the host sends.
    public static let sentVoice = Kind(rawValue: 6)
    /// Voice of Bluetooth Classic that the host receives.
    public static let receivedVoice = Kind(rawValue: 7)
    /// A controller that was opened.
    public static let openedIndex = Kind(rawValue: 8)
    /// A controller that was closed.
    public static let closedIndex = Kind(rawValue: 9)
    /// The address and the manufacturer of a controller.
    public static let indexInformation = Kind(rawValue: 10)
    /// A diagnostic message of the controller's vendor.
    public static let vendorDiagnostic = Kind(rawValue: 11)
    /// A note of the kernel, such as its version.
    public static let systemNote = Kind(rawValue: 12)
    /// A line of a program's log, for example of bluetoothd.
    public static let userLog = Kind(rawValue: 13)
    /// A program that opened the management interface.
    public static let openedControl = Kind(rawValue: 14)
    /// A program that closed the management interface.
    public static let closedControl = Kind(rawValue: 15)
    /// A command of the management interface.
    public static let controlCommand = Kind(rawValue: 16)
    /// An event of the management interface.
    public static let controlEvent = Kind(rawValue: 17)
    /// Isochronous data that the host sends.
    public static let sentStream = Kind(rawValue: 18)
    /// Isochronous data that the host receives.
    public static let receivedStream = Kind(rawValue: 19)

    private static let names = [
      "new index", "deleted index", "command", "event", "sent data", "received data", "sent voice", "received voice",
      "opened index", "closed index", "index information", "vendor diagnostic", "system note", "user log",
      "opened control", "closed control", "control command", "control event", "sent stream", "received stream",
    ]

    /// The kind in words, for display.
    public var description: String {
      Self.names.indices.contains(Int(rawValue)) ? Self.names[Int(rawValue)] : "kind \(rawValue)"
    }
  }

  /// The instant in microseconds since 1970, in universal time.
  public var time: Int64
  /// The number N of the adapter `hciN`; 65,535 for what concerns none.
  public var adapter: UInt16
  /// The kind of the record.
  public var kind: Kind
  /// The content without any header of the file.
  public var bytes: [UInt8]
  /// The length of the content before it was cut for the file, in bytes.
  public var originalLength: Int
  /// The number of records that were lost before this one, since the beginning of the file.
  public var drops: Int

  /// The number of a record that concerns no adapter.
  public static let noAdapter: UInt16 = 0xffff

  /// Creates a record from its fields; its content is complete unless an original length is given.
  public init(
    time: Int64, adapter: UInt16, kind: Kind, bytes: [UInt8], originalLength: Int? = nil, drops: Int = 0
  ) {
    self.time = time
    self.adapter = adapter
    self.kind = kind
    self.bytes = bytes
    self.originalLength = originalLength ?? bytes.count
    self.drops = drops
  }
}
