import Btsnoop

/// Makes lines for a user from the records of a recording: what repeats becomes one line.
struct Timeline: Sendable {
  private(set) var decoder = TrafficDecoder()
  private(set) var statistics = TrafficStatistics()
  private let window: Int64
  private var runs: [TrafficRun.Key: TrafficRun] = [:]
  private var oldest = Int64.max
  /// The instants of the connections that exist.
  private var connected: [Int: Int64] = [:]
  private var lastTime: Int64 = 0

  private static let runLimit = 1024

  /// - Parameter window: The microseconds over which repeated events are put together.
  init(window: Int64) { self.window = window }

  /// Handles the next record.
  mutating func handle(_ record: CaptureRecord) -> [TimelineEntry] {
    statistics.count(record)
    lastTime = record.time
    let events = decoder.handle(record)
    guard !events.isEmpty || record.time &- oldest > window else { return [] }
    var entries = record.time &- oldest > window ? flush() : []
    for event in events { handle(event, &entries) }
    return entries
  }

  /// Ends what was put together for long enough at an instant.
  mutating func advance(to time: Int64) -> [TimelineEntry] { time &- oldest > window ? flush() : [] }

  /// Ends the recording.
  mutating func finish() -> [TimelineEntry] {
    var entries: [TimelineEntry] = []
    for event in decoder.finish(at: lastTime) { handle(event, &entries) }
    return flush() + entries
  }

  private mutating func handle(_ event: TrafficEvent, _ entries: inout [TimelineEntry]) {
    statistics.note(event)
    if let (key, content) = Self.run(event, decoder) {
      if runs.count >= Self.runLimit { entries += flush() }
      oldest = min(oldest, event.time)
      runs[key, default: TrafficRun(event)].add(content, at: event.time)
      return
    }
    if note(event) { return }
    var event = event
    if case .advertisement(var report) = event.kind {
      guard let data = statistics.introduction(report) else { return }
      report.data = data
      event.kind = .advertisement(report)
    }
    guard var entry = TimelineEntry(event) else { return }
    switch event.kind {
    case .connected:
      if let link = event.link { connected[link.number] = event.time }
    case .disconnected:
      if let start = event.link.flatMap({ connected.removeValue(forKey: $0.number) }) {
        let seconds = Double(event.time &- start) / 1e6
        entry.text += ", after \(Amounts.fixed(seconds, 2)) s"
        entry.fields["seconds"] = .number(seconds)
      }
    default: break
    }
    entries += flush()
    entries.append(entry)
  }

  /// Adds what was found to the line of the discovery.
  private mutating func note(_ event: TrafficEvent) -> Bool {
    guard let (server, change) = Self.discovery(event) else { return false }
    let key = TrafficRun.Key(link: event.link?.number ?? 0, kind: .discovery, server: server, handle: 0)
    oldest = min(oldest, event.time)
    change(&runs[key, default: TrafficRun(event)])
    runs[key]?.last = event.time
    return true
  }

  private typealias Change = (inout TrafficRun) -> Void

  private static func discovery(_ event: TrafficEvent) -> (AttributeServer, Change)? {
    switch event.kind {
    case .foundService(let service, let server): (server, { $0.services.append(service.uuid) })
    case .foundCharacteristic(_, let server): (server, { $0.characteristics += 1 })
    case .foundDescriptor(_, let server): (server, { $0.descriptors += 1 })
    default: nil
    }
  }

  /// Returns the run to which an event belongs.
  private static func run(_ event: TrafficEvent, _ decoder: TrafficDecoder) -> (TrafficRun.Key, [UInt8])? {
    let link = event.link?.number ?? 0
    switch event.kind {
    case .value(let handle, let value, let isIndication, let server):
      return (
        .init(link: link, kind: isIndication ? .indication : .notification, server: server, handle: handle), value
      )
    case .operation(let operation):
      var key = TrafficRun.Key(
        link: link, kind: .operation(operation.kind, operation.outcome), server: operation.server,
        handle: operation.handle)
      if operation.kind == .write, operation.value.count == 2,
        decoder.table(of: operation.server).characteristic(at: operation.handle) == nil
      {
        key.configuration = operation.value
      }
      return (key, operation.value)
    case .channelData(let channel, let message, let isFromHost):
      let kind = TrafficRun.Key.Kind.message(psm: channel.psm, isFromHost: isFromHost)
      return (.init(link: link, kind: kind, server: .unknown(link: link), handle: channel.hostChannel), message)
    default: return nil
    }
  }

  /// Ends all runs, in the order of their beginnings.
  private mutating func flush() -> [TimelineEntry] {
    guard !runs.isEmpty else { return [] }
    let entries = runs.sorted { $0.value.start < $1.value.start }.map { key, run in
      TimelineEntry(run, key, decoder.table(of: key.server))
    }
    runs.removeAll(keepingCapacity: true)
    oldest = .max
    return entries
  }
}
