import ArgumentParser
import EdgeCoder
import Foundation
import SystemState

/// The options of the phone role: engine, adapter, access, name and replies.
struct PhoneOptions: ParsableArguments {
  @OptionGroup var engine: EngineOptions
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var access: AccessOptions<Centrals>
  @Option(
    help: ArgumentHelp("The name to advertise, at most 26 bytes. Default: EdgeCoder- and the host name.")) var name:
    String?
  @Option(help: ArgumentHelp("The delay between the chunks of a reply, 0 to 1000 ms.", valueName: "ms"))
  var paceMs = 10
  @Option(
    help: ArgumentHelp(
      "The limit of a reply, 1024 to \(Wire.messageLimit) bytes; longer text is truncated.", valueName: "bytes"))
  var maxOutput = Wire.messageLimit
  @Option(
    help: ArgumentHelp(
      "The largest number of tokens that a request may demand, 1 to 1000000; a request for more gets this many.",
      valueName: "number"))
  var maxTokens = PhoneConfiguration().maxTokensLimit
  @Option(
    help: ArgumentHelp(
      "The number of prompts that are answered at a time, 1 to 16. Default: the slots of llama.cpp, and 1 for other engines.",
      valueName: "number"))
  var parallel: Int?
  @Option(
    help: ArgumentHelp(
      """
      The bearer of the v2 mux, over which replies stream, several at a time, and faster: l2cap, gatt, auto (both) or \
      off. A central prefers L2CAP to GATT.
      """, valueName: "bearer"))
  var link = LinkOption.off

  func validate() throws {
    try checkRange(of: "--pace-ms", paceMs, 0...1000, unit: "ms")
    try checkRange(of: "--max-output", maxOutput, 1024...Wire.messageLimit, unit: "bytes")
    try checkRange(of: "--max-tokens", maxTokens, 1...1_000_000)
    if let parallel { try checkRange(of: "--parallel", parallel, 1...PhoneConfiguration.Queue.parallelLimit) }
  }

  /// The name that the phone advertises.
  var shownName: String { name ?? "EdgeCoder-\(ProcessInfo.processInfo.hostName.prefix(16))" }

  /// Registers the EdgeCoder service on an adapter, and creates the phone that answers there.
  /// - Parameter connections: The kernel's connections; tests without a kernel's Bluetooth replace it.
  func start(
    on radio: Radio, engine: any Engine, power: PowerMonitor, bonds: BondStore,
    connections: @escaping KernelConnections = { try $0.connections() }
  ) async throws -> (transport: BlueZPhoneTransport, phone: PhoneService) {
    let transport = try await BlueZPhoneTransport.start(
      on: radio.adapter, name: shownName, access: access.policy(isVirtual: radio.isVirtual),
      bonds: bonds, muxBearers: link.bearers, connections: connections)
    var configuration = PhoneConfiguration()
    configuration.chunkInterval = .milliseconds(paceMs)
    configuration.replyLimit = maxOutput
    configuration.maxTokensLimit = maxTokens
    configuration.queue.parallel = parallel
    let phone = PhoneService(
      transport: transport, engine: engine, configuration: configuration,
      battery: { power.telemetry.batteryLevelPct })
    return (transport, phone)
  }
}

/// The bearers over which a phone offers the v2 mux.
enum LinkOption: String, ExpressibleByArgument, CaseIterable {
  case auto, l2cap, gatt, off

  var bearers: Set<MuxBearer> {
    switch self {
    case .auto: Set(MuxBearer.allCases)
    case .l2cap: [.l2cap]
    case .gatt: [.gatt]
    case .off: []
    }
  }
}
