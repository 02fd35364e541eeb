import EdgeCoder
import JSONValues
import Streams

/// Prints the events of a central.
struct CentralDiary: Sendable {
  let terminal: Terminal

  func follow(_ events: BoundedStream<CentralEvent>) async {
    for await event in events { report(event) }
  }

  /// Prints why there is no adapter, while the model server answers.
  func report(absence reason: String) {
    terminal.happened(
      "no Bluetooth yet: \(reason.printable); the model server answers, and phones are used once there is an adapter",
      "noBluetooth", ["reason": .string(reason)])
  }

  private func report(_ event: CentralEvent) {
    switch event {
    case .scanning: terminal.happened("scanning for phones", "scanning")
    case .notScanning(let reason):
      terminal.happened("not scanning: \(reason.printable)", "notScanning", ["reason": .string(reason)])
    case .found(let phone):
      let signal = phone.rssi.map { ", \($0) dBm" } ?? ""
      let refusal = phone.refusal?.shown
      terminal.happened(
        "found \(phone.name.printable)\(signal)\(refusal.map { "; not used: \($0.printable)" } ?? "")", "found",
        [
          "phone": .string(phone.name), "id": .string(phone.id.rawValue), "rssi": JSONValue(phone.rssi),
          "refusal": JSONValue(refusal),
        ])
    case .connection(let id, let name, let state, let failure):
      let reason = failure.map { $0.shown }
      terminal.happened(
        "\(name.printable): \(Self.words(for: state))\(reason.map { " (\($0.printable))" } ?? "")", "link",
        [
          "phone": .string(name), "id": .string(id.rawValue), "state": .string(state.rawValue),
          "reason": JSONValue(reason),
        ])
    case .status(let id, let name, let status):
      let battery = status.batteryPct.map { ", battery \($0) %" } ?? ""
      terminal.happened(
        "\(name.printable): model \(status.modelState.printable)\(battery)", "status",
        [
          "phone": .string(name), "id": .string(id.rawValue), "modelState": .string(status.modelState),
          "batteryPct": JSONValue(status.batteryPct),
        ])
    }
  }

  /// Prints what was done.
  /// - Parameter server: The counters of the model server; `nil` without one.
  func conclude(_ phones: CentralCounters, server: ModelServerCounters?) {
    var text = "\(phones.requests) prompts, \(phones.replies) replies, \(phones.failures) failures"
    var fields: [String: JSONValue] = [
      "requests": .number(phones.requests), "replies": .number(phones.replies), "failures": .number(phones.failures),
      "cancelled": .number(phones.cancelled),
    ]
    if let server {
      text =
        "model server: \(server.requests) prompts, \(server.replies) replies, \(server.failures) failures; phones: "
        + text
      fields["modelServer"] = .object([
        "requests": .number(server.requests), "replies": .number(server.replies),
        "failures": .number(server.failures), "cancelled": .number(server.cancelled),
      ])
    }
    terminal.say()
    terminal.happened("stopped; \(text)", "stopped", fields)
  }

  static func words(for state: PhoneConnectionState) -> String {
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

extension PhoneConnectionFailure {
  /// The reason with the command that helps.
  var shown: String {
    guard let remedy else { return message }
    return "\(message) (\(remedy))"
  }

  private var remedy: String? {
    let phone = address ?? "ADDRESS"
    return switch code {
    case .notPaired, .pairingRequired:
      "to use it, run `edgeblue pair` at the phone, and here `edgeblue pair with \(phone)`"
    case .notListed: "--allow names the phones to use"
    case .encryptionMissing:
      "nothing was sent; if the phone is meant to be open, choose --access open, otherwise check its --access"
    case .authenticationRequired: "run `edgeblue pair` at the phone, and here `edgeblue pair with \(phone)`"
    case .bondRejected:
      "forget the bond: `edgeblue pair remove \(phone)` here, and the same with this machine's address at the phone; "
        + "then run `edgeblue pair` there, and here `edgeblue pair with \(phone)`"
    default: nil
    }
  }
}
