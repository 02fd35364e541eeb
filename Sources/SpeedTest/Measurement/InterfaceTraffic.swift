/// The bytes that the interface of a test has carried, those of other programs and all headers included.
public struct InterfaceTraffic: Sendable, Hashable, Codable {
  /// The bytes of an interval in both directions.
  public struct Amount: Sendable, Hashable, Codable {
    /// The bytes that the interface received.
    public var received: UInt64
    /// The bytes that the interface sent.
    public var sent: UInt64

    /// Creates an amount of bytes in both directions.
    public init(received: UInt64, sent: UInt64) {
      self.received = received
      self.sent = sent
    }
  }

  /// The name of the interface.
  public var interface: String
  /// The bytes from the start of the test to its end.
  public var test: Amount
  /// The bytes during the download; `nil` when the test did not come that far.
  public var download: Amount?
  /// The bytes during the upload; `nil` when the test did not come that far, or left it out.
  public var upload: Amount?

  /// Creates the traffic of an interface.
  public init(interface: String, test: Amount, download: Amount? = nil, upload: Amount? = nil) {
    self.interface = interface
    self.test = test
    self.download = download
    self.upload = upload
  }
}

/// The counters of all interfaces at the starts of the phases of a test.
package struct InterfaceCounters: Sendable {
  private var marks: [(phase: SpeedTestPhase, counters: [Substring: InterfaceTraffic.Amount])] = []

  /// The file of the kernel that has the counters, of the network namespace of the process that reads it.
  package static let path = "/proc/self/net/dev"
  /// The largest part of the file that is read: some thousand interfaces.
  package static let limit = 1 << 20

  /// Creates counters without any mark.
  package init() {}

  /// Notes the counters at the start of a phase, as the kernel's file has them.
  package mutating func mark(_ phase: SpeedTestPhase, _ text: String) {
    marks.append((phase, Self.counters(in: text)))
  }

  /// Returns the traffic of an interface; `nil` if it was not there all the time.
  package func traffic(of interface: String) -> InterfaceTraffic? {
    guard let first = marks.first, let last = marks.last, let test = Self.amount(first, last, interface) else {
      return nil
    }
    func amount(during phase: SpeedTestPhase) -> InterfaceTraffic.Amount? {
      guard let index = marks.firstIndex(where: { $0.phase == phase }), index + 1 < marks.count else { return nil }
      return Self.amount(marks[index], marks[index + 1], interface)
    }
    return InterfaceTraffic(
      interface: interface, test: test, download: amount(during: .download), upload: amount(during: .upload))
  }

  private static func amount(
    _ start: (phase: SpeedTestPhase, counters: [Substring: InterfaceTraffic.Amount]),
    _ end: (phase: SpeedTestPhase, counters: [Substring: InterfaceTraffic.Amount]), _ interface: String
  ) -> InterfaceTraffic.Amount? {
    // Counters that fall are those of another interface of the same name.
    guard let old = start.counters[interface[...]], let new = end.counters[interface[...]],
      new.received >= old.received, new.sent >= old.sent
    else { return nil }
    return .init(received: new.received - old.received, sent: new.sent - old.sent)
  }

  /// Reads the lines of the form `name: received packets … sent packets …`, each with eight numbers a direction.
  static func counters(in text: String) -> [Substring: InterfaceTraffic.Amount] {
    var counters: [Substring: InterfaceTraffic.Amount] = [:]
    for line in text.split(separator: "\n") {
      guard let colon = line.lastIndex(of: ":") else { continue }
      let numbers = line[line.index(after: colon)...].split(separator: " ").map { UInt64($0) }
      guard numbers.count >= 9, let received = numbers[0], let sent = numbers[8] else { continue }
      counters[line[..<colon].drop { $0 == " " }] = .init(received: received, sent: sent)
    }
    return counters
  }
}
