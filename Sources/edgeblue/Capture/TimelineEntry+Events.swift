import Btsnoop
import JSONValues

extension TimelineEntry {
  /// The line of one event; `nil` for one that has none.
  init?(_ event: TrafficEvent) {
    self.init(time: event.time, adapter: event.adapter, link: event.link, event: "", text: "")
    guard describeAdapter(event.kind) || describeLink(event.kind) || describeSecurity(event.kind) else { return nil }
  }

  private mutating func describeAdapter(_ kind: TrafficEvent.Kind) -> Bool {
    switch kind {
    case .adapterAdded(let address, let name):
      set("adapter", "adapter \(name.printable)" + (address.map { ", \($0)" } ?? ""), ["name": .string(name)])
      if let address { fields["address"] = .string(address.description) }
    case .adapterIdentified(let address):
      set("adapter", "the adapter's address is \(address)", ["address": .string(address.description)])
    case .adapterRemoved: set("adapterRemoved", "the adapter was removed")
    case .note(let text): set("note", text.printable, ["text": .string(text)])
    case .advertisement(let report):
      let content = TrafficNames.advertisement(report.data)
      set(
        "advertisement",
        "received \(report.address)" + (report.rssi.map { ", \(Amounts.fixed(Double($0), 0)) dBm" } ?? "")
          + (content.isEmpty ? "" : ": \(content)"),
        [
          "device": .string(report.address.description), "rssi": JSONValue(report.rssi),
          "name": JSONValue(report.data.name),
          "services": .array(report.data.services.map { .string($0.description) }),
          "isConnectable": .bool(report.isConnectable),
        ])
    case .advertising(let isScanResponse, let data):
      let content = TrafficNames.advertisement(data)
      guard !content.isEmpty else { return false }
      set(
        "advertising", "advertises\(isScanResponse ? " in its scan response" : ""): \(content)",
        [
          "name": JSONValue(data.name), "services": .array(data.services.map { .string($0.description) }),
          "isScanResponse": .bool(isScanResponse),
        ])
    case .lost(let count):
      set("lost", "\(count) packets were not recorded", ["count": .number(count)], .red)
    default: return false
    }
    return true
  }

  private mutating func describeLink(_ kind: TrafficEvent.Kind) -> Bool {
    switch kind {
    case .connecting(let address): set("connecting", "connects to \(address)", ["device": .string(address.description)])
    case .connectFailed(let address, let status):
      set(
        "connectFailed", "connecting to \(address) failed: \(status)",
        ["device": .string(address.description), "reason": .string(status.description)], .red)
    case .connected(let connection):
      set(
        "connected",
        "connected \(connection.isCentral ? "to \(connection.peer)" : "by \(connection.peer)"), \(connection.timing.words)",
        connection.timing.json.merging(["role": .string(connection.isCentral ? "central" : "peripheral")]) { $1 },
        .green)
    case .timingChanged(.success, let timing): set("parameters", timing.words, timing.json)
    case .timingChanged(let status, _):
      set("parameters", "new parameters were refused: \(status)", ["reason": .string(status.description)], .yellow)
    case .timingRequested(let least, let most, let isFromHost):
      set(
        "parametersRequested",
        "\(isFromHost ? "asks" : "the peer asks") for an interval of \(LinkTiming.milliseconds(least)) to \(LinkTiming.milliseconds(most)) ms",
        [
          "isFromHost": .bool(isFromHost), "minIntervalMs": .number(Double(least) * 1.25),
          "maxIntervalMs": .number(Double(most) * 1.25),
        ])
    case .phyChanged(let transmit, let receive):
      set(
        "phy", "sends on \(Self.phy(transmit)), receives on \(Self.phy(receive))",
        ["transmit": .string(Self.phy(transmit)), "receive": .string(Self.phy(receive))])
    case .dataLengthChanged(let transmit, let receive):
      set(
        "dataLength", "sends packets of up to \(transmit) bytes, receives up to \(receive)",
        ["transmit": .number(transmit), "receive": .number(receive)])
    case .mtu(let mtu): set("mtu", "ATT MTU \(mtu)", ["mtu": .number(mtu)])
    case .rssi(let rssi): set("rssi", "RSSI \(Amounts.fixed(Double(rssi), 0)) dBm", ["rssi": .number(rssi)])
    case .disconnected(let reason):
      let isFault = ![.closedByHost, .closedByPeer].contains(reason)
      set(
        "disconnected", "disconnected: \(reason)",
        ["reason": .string(reason.description), "reasonCode": .number(Int(reason.rawValue))], isFault ? .red : .bold)
    default: return describeChannel(kind)
    }
    return true
  }

  private mutating func describeChannel(_ kind: TrafficEvent.Kind) -> Bool {
    switch kind {
    case .channelOpened(let channel, let isFromHost):
      set(
        "channelOpened",
        "\(isFromHost ? "opened" : "the peer opened") a channel, PSM \(channel.psm), messages of up to \(channel.hostMTU) bytes in and \(channel.peerMTU) out",
        [
          "psm": .number(Int(channel.psm)), "isFromHost": .bool(isFromHost), "hostMTU": .number(Int(channel.hostMTU)),
          "peerMTU": .number(Int(channel.peerMTU)),
        ], .green)
    case .channelRefused(let psm, let result, let isFromHost):
      set(
        "channelRefused", "\(isFromHost ? "a" : "the peer's") channel with PSM \(psm) was refused, result \(result)",
        ["psm": .number(Int(psm)), "result": .number(Int(result)), "isFromHost": .bool(isFromHost)], .yellow)
    case .channelClosed(let channel, let isFromHost):
      set(
        "channelClosed", "\(isFromHost ? "closed" : "the peer closed") the channel of PSM \(channel.psm)",
        ["psm": .number(Int(channel.psm)), "isFromHost": .bool(isFromHost)])
    case .malformed(let layer):
      set("malformed", "a malformed packet (\(layer))", ["layer": .string(layer)], .red)
    default: return false
    }
    return true
  }

  private mutating func describeSecurity(_ kind: TrafficEvent.Kind) -> Bool {
    switch kind {
    case .encryption(.success, let isEncrypted):
      set(
        "encryption", isEncrypted ? "encrypted" : "no longer encrypted", ["isEncrypted": .bool(isEncrypted)],
        isEncrypted ? .green : .yellow)
    case .encryption(let status, _):
      set("encryption", "encryption failed: \(status)", ["reason": .string(status.description)], .red)
    case .pairing(let packet, let isFromHost):
      let who = isFromHost ? "" : "the peer "
      switch packet {
      case .pairingRequest(let features), .pairingResponse(let features):
        set(
          "pairing", "\(who)\(features.isRequest(packet) ? "asks to pair" : "agrees to pair"): \(features.words)",
          [
            "isFromHost": .bool(isFromHost), "isRequest": .bool(features.isRequest(packet)),
            "features": .string(features.words),
          ])
      case .securityRequest:
        set("securityRequest", "\(who)asks for encryption", ["isFromHost": .bool(isFromHost)])
      case .failed(let reason):
        set(
          "pairingFailed", "\(isFromHost ? "this host" : "the peer") ended the pairing: \(SMPPacket.reason(reason))",
          ["reason": .string(SMPPacket.reason(reason)), "isFromHost": .bool(isFromHost)], .red)
      case .identityAddress(let address):
        set(
          "identity", "\(isFromHost ? "this host's" : "the peer's") address that stays is \(address)",
          ["identity": .string(address.description), "isFromHost": .bool(isFromHost)])
      default: return false
      }
    default: return false
    }
    return true
  }

  private mutating func set(
    _ event: String, _ text: String, _ fields: [String: JSONValue] = [:], _ paint: Terminal.Paint? = nil
  ) {
    self.event = event
    self.text = text
    self.fields = fields
    self.paint = paint
  }

  private static func phy(_ number: UInt8) -> String {
    switch number {
    case 1: "LE 1M"
    case 2: "LE 2M"
    case 3: "LE Coded"
    default: "PHY \(number)"
    }
  }
}

extension LinkTiming {
  fileprivate var words: String {
    "interval \(Self.milliseconds(intervalUnits)) ms, latency \(latency), timeout \(timeout) ms"
  }

  fileprivate var json: [String: JSONValue] {
    ["intervalMs": .number(interval), "latency": .number(Int(latency)), "timeoutMs": .number(timeout)]
  }

  /// Units of 1.25 ms as text, such as `48.75`.
  fileprivate static func milliseconds(_ units: UInt16) -> String {
    let hundredths = Int(units) * 125
    return "\(hundredths / 100)"
      + (hundredths % 100 == 0 ? "" : ".\(hundredths % 100 == 50 ? "5" : "\(hundredths % 100)")")
  }
}

extension SMPPacket.Features {
  fileprivate func isRequest(_ packet: SMPPacket) -> Bool { if case .pairingRequest = packet { true } else { false } }

  /// The wishes in words.
  fileprivate var words: String {
    let abilities = ["display", "display with yes and no", "keyboard", "no input or output", "keyboard and display"]
    let ability = abilities.indices.contains(Int(capability)) ? abilities[Int(capability)] : "capability \(capability)"
    return [
      ability, wantsBonding ? "bonding" : "no bonding", wantsAuthentication ? "authenticated" : "not authenticated",
      supportsSecureConnections ? "Secure Connections" : "legacy pairing",
    ].joined(separator: ", ")
  }
}
