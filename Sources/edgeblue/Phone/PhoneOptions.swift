import ArgumentParser
import EdgeCoder
import Foundation
import SystemState

/// How a phone shows itself and answers.
struct PhoneOptions: ParsableArguments {
  @OptionGroup var engine: EngineOptions
  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var access: AccessOptions
  @Option(
    help: ArgumentHelp("The name to show, at most 26 bytes. Without it EdgeCoder- and this machine's name.")) var name:
    String?
  @Option(help: ArgumentHelp("The pause between the chunks of a reply, 0 to 1000 ms.", valueName: "ms"))
  var paceMs = 10
  @Option(help: ArgumentHelp("The most bytes of a reply; text beyond is cut off.", valueName: "bytes"))
  var maxOutput = Wire.messageLimit
  @Option(
    help: ArgumentHelp(
      """
      Offer a v2 link too, by which replies come as they are made, several at a time, and faster: over l2cap, over \
      gatt, over what there is (auto), or off. A central takes L2CAP before GATT.
      """, valueName: "bearer"))
  var link = LinkOption.off

  func validate() throws {
    guard (0...1000).contains(paceMs) else { throw ValidationError("--pace-ms is 0 to 1000.") }
    guard (1024...Wire.messageLimit).contains(maxOutput) else {
      throw ValidationError("--max-output is 1024 to \(Wire.messageLimit) bytes.")
    }
  }

  /// The name others see.
  var shownName: String { name ?? "EdgeCoder-\(ProcessInfo.processInfo.hostName.prefix(16))" }

  /// Registers the service on a radio, and makes what answers there.
  func start(
    on radio: Radio, engine: any Engine, power: PowerMonitor
  ) async throws -> (transport: BlueZPhoneTransport, phone: PhoneService) {
    let transport = try await BlueZPhoneTransport.start(
      on: radio.adapter, name: shownName, access: access.policy(isVirtual: radio.isVirtual), links: link.bearers)
    var configuration = PhoneConfiguration()
    configuration.chunkInterval = .milliseconds(paceMs)
    configuration.replyLimit = maxOutput
    let phone = PhoneService(
      transport: transport, engine: engine, configuration: configuration,
      battery: { power.telemetry.batteryLevelPct })
    return (transport, phone)
  }
}

/// Over what a phone offers v2 links.
enum LinkOption: String, ExpressibleByArgument, CaseIterable {
  case auto, l2cap, gatt, off

  var bearers: Set<LinkBearer> {
    switch self {
    case .auto: Set(LinkBearer.allCases)
    case .l2cap: [.l2cap]
    case .gatt: [.gatt]
    case .off: []
    }
  }
}
