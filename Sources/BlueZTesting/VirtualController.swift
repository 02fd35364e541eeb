import BlueZ

/// A controller as the kernel's management interface shows it: settings, PHYs and connection parameters. They last until
/// bluetoothd starts again.
///
/// The layouts and the numbers of fields are those of BlueZ's doc/mgmt-api.txt. They are not taken from the library: a
/// fake that shares its assumptions would find no fault in it. The codes of the commands are the library's, which real
/// kernels hold in the radio tests.
struct VirtualController: Sendable {
  /// What the rest of the fake knows of the controller.
  struct Facts: Sendable {
    var address: [UInt8]
    var isPowered: Bool
    var isPairable: Bool
    var isAdvertising: Bool
    /// Whether the program has CAP_NET_ADMIN.
    var isPrivileged: Bool
    /// The readings of the links, by the address of the peer and its kind.
    var links: [[UInt8]: LinkReading]
  }

  /// The outcome of a command.
  struct Answer: Sendable, Equatable {
    var status: Status
    var parameters: [UInt8] = []
  }

  enum Status: UInt8, Sendable {
    case success = 0
    case unknownCommand = 0x01
    case notConnected = 0x02
    case rejected = 0x0b
    case notSupported = 0x0c
    case invalidParameters = 0x0d
    case notPowered = 0x0f
    case invalidIndex = 0x11
    case permissionDenied = 0x14
  }

  private var secureConnections: UInt8 = 1
  private var privacy: UInt8 = 0
  /// LE 1M, to transmit and to receive.
  private var phys: UInt32 = 0b11 << 9
  /// The connection parameters for devices without their own: 30 to 50 ms, no latency, 420 ms.
  private var defaults: [UInt16: UInt16] = [0x17: 24, 0x18: 40, 0x19: 0, 0x1a: 42]
  /// The connection parameters of devices, by address and kind: each 8 bytes.
  private(set) var preferences: [[UInt8]: [UInt8]] = [:]

  /// Returns the answer of the kernel to Read Commands, which asks for no controller.
  static func commands(isPrivileged: Bool) -> Answer {
    let all = ManagementCommand.allCases.filter { isPrivileged || $0.isForAll }.map(\.rawValue)
    return Answer(status: .success, parameters: bytes([UInt16(all.count), 0] + all))
  }

  /// Performs a command.
  mutating func handle(_ code: UInt16, _ parameters: [UInt8], _ facts: Facts) -> Answer {
    guard let command = ManagementCommand(rawValue: code) else { return Answer(status: .unknownCommand) }
    guard facts.isPrivileged || command.isForAll else { return Answer(status: .permissionDenied) }
    switch command {
    // It is a command to the interface, and not to a controller.
    case .readCommands: return Answer(status: .invalidIndex)
    case .readInformation: return information(facts)
    // Of its own the kernel scans for nobody here.
    case .stopDiscovery: return Answer(status: .rejected)
    case .setSecureConnections: return setSecureConnections(parameters, facts)
    case .setPrivacy: return setPrivacy(parameters, facts)
    case .getConnectionInformation: return Self.reading(of: parameters, facts)
    case .loadConnectionParameters: return load(parameters)
    case .getPHYs: return Answer(status: .success, parameters: Self.bytes([Self.allPHYs, Self.changeablePHYs, phys]))
    case .setPHYs: return setPHYs(parameters)
    case .readDefaults: return readDefaults()
    case .setDefaults: return setDefaults(parameters)
    }
  }

  // MARK: Settings

  private func settings(_ facts: Facts) -> UInt32 {
    let bits: [(Bool, UInt32)] = [
      (facts.isPowered, 0), (facts.isAdvertising, 1), (facts.isPairable, 4), (true, 9), (facts.isAdvertising, 10),
      (secureConnections > 0, 11), (privacy > 0, 13),
    ]
    return bits.reduce(0) { $1.0 ? $0 | 1 << $1.1 : $0 }
  }

  private func information(_ facts: Facts) -> Answer {
    // Bluetooth 5.0; no manufacturer, class or name.
    let supported: UInt32 = [0, 1, 4, 9, 10, 11, 13, 15, 16].reduce(0) { $0 | 1 << $1 }
    let parameters =
      facts.address + [9, 0xff, 0xff] + Self.bytes([supported, settings(facts)]) + [UInt8](repeating: 0, count: 263)
    return Answer(status: .success, parameters: parameters)
  }

  private mutating func setSecureConnections(_ parameters: [UInt8], _ facts: Facts) -> Answer {
    guard parameters.count == 1, parameters[0] <= 2 else { return Answer(status: .invalidParameters) }
    secureConnections = parameters[0]
    return Answer(status: .success, parameters: Self.bytes([settings(facts)]))
  }

  private mutating func setPrivacy(_ parameters: [UInt8], _ facts: Facts) -> Answer {
    guard parameters.count == 17, parameters[0] <= 2 else { return Answer(status: .invalidParameters) }
    guard !facts.isPowered else { return Answer(status: .rejected) }
    privacy = parameters[0]
    return Answer(status: .success, parameters: Self.bytes([settings(facts)]))
  }

  // MARK: Links

  private static func reading(of peer: [UInt8], _ facts: Facts) -> Answer {
    guard peer.count == 7 else { return Answer(status: .invalidParameters) }
    func byte(_ power: Int?) -> UInt8 { UInt8(bitPattern: Int8(clamping: power ?? 127)) }
    guard facts.isPowered else { return Answer(status: .notPowered, parameters: peer + [127, 127, 127]) }
    guard let reading = facts.links[peer] else {
      return Answer(status: .notConnected, parameters: peer + [127, 127, 127])
    }
    let powers = [reading.rssi, reading.transmitPower, reading.maximumTransmitPower].map(byte)
    return Answer(status: .success, parameters: peer + powers)
  }

  /// Takes the connection parameters of devices, and forgets those of all others.
  private mutating func load(_ parameters: [UInt8]) -> Answer {
    guard parameters.count >= 2 else { return Answer(status: .invalidParameters) }
    let entries = stride(from: 2, to: parameters.count, by: 15).map { Array(parameters[$0...].prefix(15)) }
    guard entries.count == Int(parameters[0]) | Int(parameters[1]) << 8, entries.allSatisfy({ $0.count == 15 }) else {
      return Answer(status: .invalidParameters)
    }
    preferences = Dictionary(entries.map { (Array($0[..<7]), Array($0[7...])) }, uniquingKeysWith: { $1 })
    return Answer(status: .success)
  }

  private func readDefaults() -> Answer {
    let entries = defaults.sorted { $0.key < $1.key }.flatMap { type, value -> [UInt8] in
      Self.bytes([type]) + [2] + Self.bytes([value])
    }
    return Answer(status: .success, parameters: entries)
  }

  private mutating func setDefaults(_ parameters: [UInt8]) -> Answer {
    var changed = defaults
    for start in stride(from: 0, to: parameters.count, by: 5) {
      let entry = Array(parameters[start...].prefix(5))
      guard entry.count == 5, entry[2] == 2 else { return Answer(status: .invalidParameters) }
      let type = UInt16(entry[0]) | UInt16(entry[1]) << 8
      guard changed[type] != nil else { return Answer(status: .invalidParameters) }
      changed[type] = UInt16(entry[3]) | UInt16(entry[4]) << 8
    }
    defaults = changed
    return Answer(status: .success)
  }

  // MARK: PHYs

  /// LE 1M, 2M and coded, to transmit and to receive; 1M cannot be left out.
  private static let allPHYs: UInt32 = 0b111111 << 9
  private static let changeablePHYs: UInt32 = 0b111100 << 9

  private mutating func setPHYs(_ parameters: [UInt8]) -> Answer {
    guard parameters.count == 4 else { return Answer(status: .invalidParameters) }
    let chosen = parameters.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    guard chosen & ~Self.allPHYs == 0, chosen & Self.allPHYs & ~Self.changeablePHYs == 0b11 << 9 else {
      return Answer(status: .invalidParameters)
    }
    phys = chosen
    return Answer(status: .success)
  }

  private static func bytes<Number: FixedWidthInteger>(_ numbers: [Number]) -> [UInt8] {
    numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
  }
}

extension ManagementCommand {
  /// A Boolean value that indicates whether the kernel admits the command from every program.
  fileprivate var isForAll: Bool { [.readCommands, .readInformation, .readDefaults].contains(self) }
}
