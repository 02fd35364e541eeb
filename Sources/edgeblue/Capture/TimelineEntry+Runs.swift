import Btsnoop
import JSONValues

extension TimelineEntry {
  /// The line of several events in a row.
  init(_ run: TrafficRun, _ key: TrafficRun.Key, _ table: AttributeTable) {
    self.init(time: run.start, adapter: run.adapter, link: run.link, event: "", text: "")
    switch key.kind {
    case .discovery: describe(discovery: run, isPeerClient: key.server.isHost)
    case .message(let psm, let isFromHost):
      event = "message"
      let noun = run.count == 1 ? "message" : "messages"
      text = (isFromHost ? "sent " : "received ") + run.amount(noun) + " on the channel of PSM \(psm)"
      fields = run.json.merging(["psm": .number(Int(psm)), "isFromHost": .bool(isFromHost)]) { $1 }
    default: describe(values: run, key, TrafficNames.attribute(key.handle, table))
    }
  }

  private mutating func describe(discovery run: TrafficRun, isPeerClient: Bool) {
    event = "discovered"
    func count(_ number: Int, _ noun: String) -> String? {
      number == 0 ? nil : "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
    let names = run.services.map(TrafficNames.service)
    let found = [
      names.isEmpty ? nil : (names.count == 1 ? "the service " : "the services ") + names.joined(separator: ", "),
      count(run.characteristics, "characteristic"), count(run.descriptors, "descriptor"),
    ].compactMap(\.self)
    text = (isPeerClient ? "the peer found " : "found ") + found.joined(separator: ", ")
    fields = [
      "services": .array(
        run.services.map { .object(["uuid": .string($0.description), "name": .string(TrafficNames.service($0))]) }),
      "characteristics": .number(run.characteristics), "descriptors": .number(run.descriptors),
      "client": .string(isPeerClient ? "peer" : "host"),
    ]
  }

  private mutating func describe(values run: TrafficRun, _ key: TrafficRun.Key, _ attribute: TrafficNames.Attribute) {
    let isPeerClient = key.server.isHost
    fields = run.json
    fields["attribute"] = .string(attribute.name)
    fields["handle"] = .number(Int(key.handle))
    fields["characteristic"] = JSONValue(attribute.characteristic?.uuid.description)
    fields["service"] = JSONValue(attribute.service?.uuid.description)
    fields["client"] = .string(isPeerClient ? "peer" : "host")
    switch key.kind {
    case .operation(let kind, let outcome):
      describe(operation: kind, outcome, run, attribute, isPeerClient: isPeerClient)
      if attribute.isConfiguration, kind == .write, outcome == .done {
        describe(configuration: run, attribute, isPeerClient)
      }
    case .indication: describe(sent: "indication", run, attribute, isPeerClient)
    default: describe(sent: "notification", run, attribute, isPeerClient)
    }
  }

  private mutating func describe(
    sent noun: String, _ run: TrafficRun, _ attribute: TrafficNames.Attribute, _ isPeerClient: Bool
  ) {
    event = noun
    let sender = isPeerClient ? "sent " : ""
    text =
      run.count == 1
      ? "\(sender)\(noun) of \(attribute.name): \(TrafficNames.value(run.value, attribute))"
      : "\(sender)\(run.amount(noun + "s")) of \(attribute.name), last: \(TrafficNames.value(run.value, attribute))"
  }

  private mutating func describe(
    operation kind: AttributeOperation.Kind, _ outcome: AttributeOperation.Outcome, _ run: TrafficRun,
    _ attribute: TrafficNames.Attribute, isPeerClient: Bool
  ) {
    event = kind.rawValue
    let who = isPeerClient ? "the peer " : ""
    let verb = kind.verb
    switch outcome {
    case .done:
      let value = kind == .executeWrite ? "" : ": \(TrafficNames.value(run.value, attribute))"
      let target = kind == .executeWrite ? "" : " \(attribute.name)"
      text =
        run.count == 1
        ? "\(who)\(verb)\(target)\(value)" : "\(who)\(verb)\(target) \(run.amount("times")), last\(value)"
    case .refused(let reason):
      text =
        "\(who)\(kind.noun) of \(attribute.name) refused: \(reason)" + (run.count == 1 ? "" : " (\(run.count) times)")
      fields["error"] = .string(reason.description)
      fields["errorCode"] = .number(Int(reason.rawValue))
      paint = .yellow
    case .unanswered:
      text = "\(who)\(kind.noun) of \(attribute.name) had no response"
      fields["error"] = "no response"
      paint = .yellow
    }
  }

  private mutating func describe(
    configuration run: TrafficRun, _ attribute: TrafficNames.Attribute, _ isPeerClient: Bool
  ) {
    let name = attribute.characteristic.map { TrafficNames.characteristic($0.uuid) } ?? attribute.name
    let who = isPeerClient ? "the peer " : ""
    let bits = run.value.first ?? 0
    event = bits & 3 == 0 ? "unsubscribed" : "subscribed"
    text =
      bits & 3 == 0
      ? "\(who)unsubscribed from \(name)"
      : "\(who)subscribed to \(name) (\(bits & 2 == 0 ? "notifications" : "indications"))"
    paint = bits & 3 == 0 ? nil : .green
  }
}

extension TrafficRun {
  /// The amounts; of several values the last one.
  var json: [String: JSONValue] {
    var fields: [String: JSONValue] = ["count": .number(count), "bytes": .number(bytes)]
    if count > 1 { fields["seconds"] = .number(seconds) }
    if let rate { fields["rate"] = .number(rate) }
    if count > 0 { fields["value"] = .string(AttributeText.hex(value)) }
    return fields
  }
}

extension AttributeServer {
  /// A Boolean value that indicates whether the server is this host's.
  var isHost: Bool { if case .host = self { true } else { false } }
}

extension AttributeOperation.Kind {
  fileprivate var verb: String {
    switch self {
    case .read: "read"
    case .readBlob: "read on in"
    case .readByType: "read"
    case .write: "wrote"
    case .writeCommand: "wrote without response"
    case .signedWrite: "wrote, signed,"
    case .prepareWrite: "prepared a write of"
    case .executeWrite: "executed the prepared write"
    }
  }

  fileprivate var noun: String {
    switch self {
    case .read, .readBlob, .readByType: "read"
    case .write, .writeCommand, .signedWrite, .prepareWrite, .executeWrite: "write"
    }
  }
}
