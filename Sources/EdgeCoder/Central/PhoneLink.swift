import Logging
import Streams
import Timing

/// What a link tells the central when something about it changes.
struct LinkReport: Sendable, Equatable {
  var id: PhoneID
  var state: LinkState
  var reason: String?
  var status: Wire.Status?
  var rssi: Int?
  var abandoned: Int
  var lastSeenMs: Int?
  /// What carries the v2 link; `nil` when requests go over the characteristics.
  var linkBearer: LinkBearer?
}

/// One phone: keeps a connection to it, sends it requests, and hands its replies to those who wait.
///
/// ``LinkMachine`` decides, this actor performs. A request once begun is written to its end even when nobody waits for
/// its reply any more: half a request would spoil the next one.
actor PhoneLink {
  nonisolated let id: PhoneID
  nonisolated let name: String
  let configuration: CentralConfiguration
  let context: CentralContext
  let connector: any PhoneConnector
  let gate: Gate
  let report: @Sendable (LinkReport) async -> Void

  var machine: LinkMachine
  var connection: (any PhoneConnection)?
  /// The phone's v2 link, while it has one.
  var link: (client: LinkClient, bearer: LinkBearer, task: Task<Void, Never>)?
  var requests = LinkRequests()
  var responseScanner: JSONObjectScanner
  var statusScanner: JSONObjectScanner
  var status: Wire.Status?
  var rssi: Int?
  var lastSeenMs: Int?
  /// Wakes the writer of the present connection; `nil` when no request can be sent.
  var writerWake: Wake?
  private let stopWake = Wake()
  private var stopReason = "the central stopped"

  init(
    _ sighting: PhoneSighting, configuration: CentralConfiguration, context: CentralContext,
    connector: any PhoneConnector, gate: Gate, report: @Sendable @escaping (LinkReport) async -> Void
  ) {
    id = sighting.id
    name = sighting.name
    rssi = sighting.rssi
    self.configuration = configuration
    self.context = context
    self.connector = connector
    self.gate = gate
    self.report = report
    lastSeenMs = context.wallClock()
    machine = LinkMachine(configuration)
    responseScanner = JSONObjectScanner(sizeLimit: configuration.messageLimit, idleLimit: configuration.idleLimit)
    statusScanner = JSONObjectScanner(sizeLimit: 4096, idleLimit: configuration.idleLimit)
  }

  /// The link as it is now.
  var current: LinkReport {
    LinkReport(
      id: id, state: machine.state, reason: machine.reason, status: status, rssi: rssi,
      abandoned: requests.abandoned.count, lastSeenMs: lastSeenMs, linkBearer: link?.bearer)
  }

  /// Keeps the link until it is stopped, the task is cancelled, or the phone failed too often.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.drive() }
      group.addTask {
        for await _ in self.stopWake.calls { return }
      }
      await group.next()
      group.cancelAll()
    }
  }

  /// Ends the link.
  /// - Parameter reason: why, for a person.
  func stop(_ reason: String) {
    stopReason = reason
    stopWake.signal()
  }

  /// The scan saw the phone.
  func sighted(_ sighting: PhoneSighting) async {
    lastSeenMs = context.wallClock()
    guard let rssi = sighting.rssi, rssi != self.rssi else { return }
    self.rssi = rssi
    await report(current)
  }

  // MARK: The machine's actions

  private func drive() async {
    var next: LinkMachine.Event? = .start
    while let event = next {
      let actions = machine.handle(
        Task.isCancelled ? .stop(stopReason) : event, at: context.time.now, random: context.random())
      // Before anybody hears that the link is ready: a request may come at once.
      if machine.state == .ready { writerWake = Wake() }
      await report(current)
      next = nil
      for action in actions {
        switch action {
        case .connect: next = await connect()
        case .subscribe: next = await subscribe()
        case .serve: next = await serve()
        case .wait(let pause): next = await wait(pause)
        case .failPending(let reason): failPending(reason)
        case .disconnect: await disconnect()
        }
      }
    }
  }

  private func connect() async -> LinkMachine.Event {
    let (id, connector, time, limit) = (id, connector, context.time, configuration.connectLimit)
    // A connection that comes about just as its time runs out would otherwise be lost, and stay open.
    let made = Lock<(any PhoneConnection)?>(nil)
    do {
      try await gate.pass {
        try await time.withLimit(limit, orThrow: LinkError("connecting", limit)) {
          let connection = try await connector.connect(to: id)
          made.withLock { $0 = connection }
        }
      }
      connection = made.withLock { $0 }
      return .connected
    } catch {
      if let connection = made.withLock({ $0 }) { await Self.end(connection) }
      return .failed("\(error)")
    }
  }

  private func subscribe() async -> LinkMachine.Event {
    guard let connection else { return .failed("the connection ended") }
    let (time, limit, pairingLimit) = (context.time, configuration.subscribeLimit, configuration.pairingLimit)
    do {
      try await time.withLimit(pairingLimit, orThrow: LinkError("pairing", pairingLimit)) {
        try await connection.secure()
      }
      for characteristic in [EdgeCoderCharacteristic.response, .status] {
        try await time.withLimit(limit, orThrow: LinkError("subscribing to \(characteristic)", limit)) {
          try await connection.subscribe(to: characteristic)
        }
      }
      await openLink(of: connection)
      return .subscribed
    } catch {
      return .failed("\(error)")
    }
  }

  private func wait(_ pause: Duration) async -> LinkMachine.Event {
    do {
      try await context.time.sleep(for: pause)
      return .retry
    } catch {
      return .stop(stopReason)
    }
  }

  private func disconnect() async {
    link.take()?.task.cancel()
    if let connection = connection.take() { await Self.end(connection) }
    status = nil
    responseScanner.reset()
    statusScanner.reset()
  }

  /// Ends a connection, also in a task that is cancelled: a link left behind keeps the phone's place.
  private static func end(_ connection: any PhoneConnection) async {
    await Task { await connection.disconnect() }.value
  }
}

/// A phase of a link that took too long.
struct LinkError: Error, CustomStringConvertible {
  let description: String

  init(_ phase: String, _ limit: Duration) {
    description = "\(phase) took longer than \(limit.milliseconds) ms"
  }
}

/// What the central's parts share: time, chance and the counters.
struct CentralContext: Sendable {
  let time: TimeSource
  /// Unix milliseconds.
  let wallClock: @Sendable () -> Int
  /// −1…1.
  let random: @Sendable () -> Double
  let counters: Lock<CentralCounters>
  let logger: Logger

  func count(_ change: (inout CentralCounters) -> Void) { counters.withLock(change) }
}
