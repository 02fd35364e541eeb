import BlueZ
import Foundation
import SystemTesting
import Testing

/// The two adapters the tests run on: virtual ones in the radio lab, or real ones.
enum Radio {
  /// The phone's and the Mac's adapter, from `EDGEBLUE_ADAPTERS=hci0,hci1`.
  static let names: [String] = (ProcessInfo.processInfo.environment["EDGEBLUE_ADAPTERS"] ?? "")
    .split(separator: ",").map(String.init)

  static var isThere: Bool { names.count >= 2 }

  /// Whether faults can be injected by name.
  static let isLab = ProcessInfo.processInfo.environment["RADIO_LAB"] == "1"

  /// Whether a controller that is switched off is off. btvirt's advertises on, for Linux 6.1 does not tell it to stop;
  /// switched on again, it forgets the link it was given meanwhile and does not tell the other end, which can then
  /// neither use nor end it.
  static let canSwitchOff = !isBtvirt

  /// Whether the controllers are btvirt's.
  static let isBtvirt = ProcessInfo.processInfo.environment["RADIO_LAB_RADIO"] == "btvirt"

  /// How many ATT channels bluetoothd may use for a connection, where the lab says it.
  static let attributeChannels = ProcessInfo.processInfo.environment["RADIO_LAB_ATT_CHANNELS"].flatMap { Int($0) }

  /// Whether Linux pairs several further ATT channels wrongly: its peripheral answers the first with the number of one
  /// that its central takes for the second.
  static let confusesAttributeChannels = (attributeChannels ?? 1) > 2 && kernel.hasPrefix("6.12.")

  private static let kernel =
    FileManager.default.contents(atPath: "/proc/sys/kernel/osrelease").map { String(decoding: $0, as: UTF8.self) } ?? ""

  /// The Python with the independent peers; they create controllers of their own, so they need the lab.
  static let python = ProcessInfo.processInfo.environment["EDGEBLUE_LAB_PYTHON"]

  static let needed: Comment = "needs two adapters, real or virtual: EDGEBLUE_ADAPTERS=hci0,hci1"
  static let labNeeded: Comment = "needs the radio lab, where bluetoothd may be killed"
  static let switchNeeded: Comment = "needs controllers that can be switched off, which btvirt's cannot: --radio bumble"
  static let btvirtNeeded: Comment = "needs the controllers of btvirt"
  static let peersNeeded: Comment = "needs the radio lab and its Python peers: EDGEBLUE_LAB_PYTHON"

  static var phone: String { names[0] }
  static var mac: String { names[1] }

  /// The release of the bluetoothd that runs, which a test of one release names.
  static func release() async throws -> BlueZRelease {
    let session = try await Session.open()
    defer { session.close() }
    return try #require(await session.version())
  }

  /// Whether bluetoothd has a capability.
  static func has(_ capability: BlueZRelease.Capability) async throws -> Bool { try await release().has(capability) }

  /// A powered adapter of a session of its own.
  /// - Parameter release: The release that the session takes bluetoothd for; `nil` for the one that it is.
  static func adapter(_ name: String, as release: BlueZRelease? = nil) async throws -> Adapter {
    let session = try await Session.open(version: release)
    let adapter = try await session.adapter(name, timeout: .seconds(30))
    try await adapter.setPowered(true)
    return adapter
  }

  /// Injects a fault by name; returns when it is done.
  static func fault(_ words: String...) async throws {
    let status = try await Subprocess.run("/usr/bin/env", ["lab-fault"] + words)
    try #require(status == 0, "lab-fault \(words.joined(separator: " ")) failed")
  }
}

extension Adapter {
  /// Waits until neither of two adapters has a connection to the other.
  ///
  /// What one of them still has would break their next connection. One that does not know of the end has not begun to
  /// advertise again: btvirt refuses a connection in that moment, and Linux never forgets the attempt
  /// (docs/bluez-versions.md).
  func awaitEnd(ofConnectionTo other: Adapter) async throws {
    try await eventually("the end of the connection at both ends", within: .seconds(60)) {
      try !connections().contains { $0.address == other.address }
        && !other.connections().contains { $0.address == address }
    }
  }
}

/// A wait of a test ran out.
struct TestTimeout: Error, CustomStringConvertible {
  let phase: String
  var description: String { "nothing within the limit: \(phase)" }
}

/// Runs something with a limit.
func bounded<R: Sendable>(
  _ limit: Duration, _ phase: String, _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
  try await withThrowingTaskGroup(of: R.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await ContinuousClock().sleep(for: limit)
      throw TestTimeout(phase: phase)
    }
    defer { group.cancelAll() }
    return try await group.next()!
  }
}

/// What this process may do (include/uapi/linux/capability.h).
enum Capability: Int {
  case netBindService = 10
  case netAdmin = 12

  var isThere: Bool {
    get throws {
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("CapEff:") })
      let bits = try #require(UInt64(line.dropFirst("CapEff:".count).drop { $0.isWhitespace }, radix: 16))
      return bits & 1 << rawValue != 0
    }
  }

  /// Runs `body` on this thread without the capability.
  func without<R>(_ body: () throws -> R) throws -> R {
    // _LINUX_CAPABILITY_VERSION_3, for this thread; two times effective, permitted and inheritable.
    var header: [UInt32] = [0x2008_0522, 0]
    var before = [UInt32](repeating: 0, count: 6)
    try #require(capget(&header, &before) == 0)
    var less = before
    less[0] &= ~(1 << UInt32(rawValue))
    try #require(capset(&header, &less) == 0)
    let result = Result { try body() }
    try #require(capset(&header, &before) == 0)
    return try result.get()
  }
}

// Glibc has them, and declares them nowhere (man 2 capset).
@_silgen_name("capget") private func capget(_ header: UnsafeMutableRawPointer, _ data: UnsafeMutableRawPointer) -> CInt
@_silgen_name("capset") private func capset(_ header: UnsafeMutableRawPointer, _ data: UnsafeMutableRawPointer) -> CInt
