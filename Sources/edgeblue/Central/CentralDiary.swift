import EdgeCoder
import Streams

/// Prints the events of a central.
struct CentralDiary: Sendable {
  let terminal: Terminal

  func follow(_ events: BoundedStream<CentralEvent>) async {
    for await event in events { report(event) }
  }

  private func report(_ event: CentralEvent) {
    switch event {
    case .scanning: terminal.happened("scanning for phones", "scanning")
    case .notScanning(let reason):
      terminal.happened("not scanning: \(reason.printable)", "notScanning", ["reason": .string(reason)])
    case .seen(let phone):
      let signal = phone.rssi.map { ", \($0) dBm" } ?? ""
      terminal.happened(
        "found \(phone.name.printable)\(signal)", "found",
        ["phone": .string(phone.name), "id": .string(phone.id.rawValue), "rssi": JSON(phone.rssi)])
    case .link(let id, let name, let state, let reason):
      terminal.happened(
        "\(name.printable): \(Self.words(for: state))\(reason.map { " (\($0.printable))" } ?? "")", "link",
        [
          "phone": .string(name), "id": .string(id.rawValue), "state": .string(state.rawValue), "reason": JSON(reason),
        ])
    case .status(let id, let name, let status):
      let battery = status.batteryPct.map { ", battery \($0) %" } ?? ""
      terminal.happened(
        "\(name.printable): model \(status.modelState.printable)\(battery)", "status",
        [
          "phone": .string(name), "id": .string(id.rawValue), "modelState": .string(status.modelState),
          "batteryPct": JSON(status.batteryPct),
        ])
    }
  }

  func conclude(_ counters: CentralCounters) {
    terminal.say()
    terminal.happened(
      "stopped; \(counters.requests) prompts, \(counters.replies) replies, \(counters.failures) failures", "stopped",
      [
        "requests": .number(counters.requests), "replies": .number(counters.replies),
        "failures": .number(counters.failures), "cancelled": .number(counters.cancelled),
      ])
  }

  static func words(for state: LinkState) -> String {
    switch state {
    case .discovered: "found"
    case .connecting: "connecting"
    case .subscribing: "connected, subscribing"
    case .ready: "ready for prompts"
    case .waiting: "connection lost, will reconnect"
    case .stopped: "stopped"
    }
  }
}
