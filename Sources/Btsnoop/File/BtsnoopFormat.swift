/// The kinds of btsnoop files, by the datalink in their header.
public enum BtsnoopFormat: UInt32, Sendable, Hashable, CaseIterable {
  /// Packets of one controller, each with its direction and kind in the record's flags.
  case hci = 1001
  /// Packets of one controller as on a serial line: Android's *Bluetooth HCI snoop log* is one.
  case uart = 1002
  /// Packets of all controllers and notices about them, as Linux has them on its monitor channel.
  case monitor = 2001

  /// The first bytes of each file.
  static let magic: [UInt8] = Array("btsnoop\0".utf8)
  static let version: UInt32 = 1
  static let headerLength = 16
  static let recordHeaderLength = 24
  /// Microseconds from the beginning of the format's time, in the year 0, to that of 1970.
  static let epoch: Int64 = 0x00dc_ddb3_0f2f_8000
  /// More than the longest packet: 65,535 bytes and its headers.
  static let longestRecord = 0x20000

  /// The kinds of packets on a serial line (Core Specification 4.A.2), and the record's kinds they are.
  static func uartKind(_ type: UInt8, isReceived: Bool) -> CaptureRecord.Kind? {
    switch type {
    case 1: .command
    case 2: isReceived ? .receivedData : .sentData
    case 3: isReceived ? .receivedVoice : .sentVoice
    case 4: .event
    case 5: isReceived ? .receivedStream : .sentStream
    default: nil
    }
  }
}

extension CaptureRecord.Kind {
  /// The number of the kind on a serial line; `nil` for a notice, which such a line has not.
  var uartType: UInt8? {
    switch self {
    case .command: 1
    case .sentData, .receivedData: 2
    case .sentVoice, .receivedVoice: 3
    case .event: 4
    case .sentStream, .receivedStream: 5
    default: nil
    }
  }

  /// A Boolean value that indicates whether the controller sent the packet to the host.
  public var isReceived: Bool {
    switch self {
    case .event, .receivedData, .receivedVoice, .receivedStream: true
    default: false
    }
  }
}
