import FoundationEssentials
public import Logging
public import Streams
public import Timing

/// The Mac role: finds phones, keeps links to the best of them, and sends each prompt to one.
///
/// Run it once with ``run()``, which returns when its task is cancelled.
public actor Central: InferenceService {
  let configuration: CentralConfiguration
  let context: CentralContext
  let scanner: any PhoneScanner
  let connector: any PhoneConnector
  /// One attempt to connect at a time: a controller makes no two LE connections at once, and two attempts in parallel
  /// abort each other (`le-connection-abort-by-local`).
  let gate = Gate()

  var roster: Roster
  var links: [PhoneID: PhoneLink] = [:]
  var reports: [PhoneID: LinkReport] = [:]
  /// Requests given to each phone and not answered yet.
  var held: [PhoneID: Int] = [:]
  /// Requests that wait for a phone, in order.
  var waiters: [Waiter] = []
  var nextTicket = 0
  var isScanning = false
  /// Why there is no scan.
  var scanTrouble: String?
  /// The phone that was best last, so that its name stays after it has gone.
  var lastBest: PhoneStatus?
  var listeners: [Int: BoundedStream<CentralEvent>.Source] = [:]
  let admitWake = Wake()

  struct Waiter {
    let ticket: Int
    let continuation: CheckedContinuation<PhoneLink, any Error>
  }

  /// Makes the central; nothing happens before ``run()``.
  /// - Parameters:
  ///   - scanner: finds phones.
  ///   - connector: connects to them.
  ///   - configuration: limits and intervals.
  ///   - time: the monotonic clock.
  ///   - wallClock: Unix milliseconds, for `lastSeenMs`.
  ///   - random: −1…1, for the jitter of reconnects.
  ///   - logger: where to log. No text of a prompt or a reply is ever logged.
  public init(
    scanner: any PhoneScanner, connector: any PhoneConnector,
    configuration: CentralConfiguration = CentralConfiguration(), time: TimeSource = .continuous,
    wallClock: @Sendable @escaping () -> Int = Central.systemWallClock,
    random: @Sendable @escaping () -> Double = { .random(in: -1...1) },
    logger: Logger = Logger(label: "edgeblue.central")
  ) {
    self.scanner = scanner
    self.connector = connector
    self.configuration = configuration
    context = CentralContext(
      time: time, wallClock: wallClock, random: random, counters: Lock(CentralCounters()), logger: logger)
    roster = Roster(phoneLimit: configuration.phoneLimit, sightingLimit: configuration.sightingLimit)
  }

  /// Finds phones and keeps links to them until the task is cancelled.
  public func run() async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.scan() }
      for await _ in admitWake.calls {
        guard await settle() else { break }
        for sighting in roster.admit() {
          let link = makeLink(sighting)
          links[sighting.id] = link
          group.addTask {
            await link.run()
            await self.ended(link)
          }
        }
      }
      group.cancelAll()
    }
    failWaiters("the central stopped")
  }

  /// What was done so far.
  public func counters() -> CentralCounters { context.counters.withLock { $0 } }

  /// News from now on, for one reader. A reader more than 256 events behind misses the oldest; that is counted.
  public func events() -> BoundedStream<CentralEvent> {
    let ticket = nextTicket
    nextTicket += 1
    let (stream, source) = BoundedStream.make(
      of: CentralEvent.self, limit: 256, onTermination: { Task { await self.removeListener(ticket) } })
    listeners[ticket] = source
    return stream
  }

  private func removeListener(_ ticket: Int) { listeners[ticket] = nil }

  func emit(_ event: CentralEvent) {
    for listener in listeners.values where !listener.yield(event) { context.count { $0.eventsDropped += 1 } }
  }

  /// The system's wall clock, Unix milliseconds.
  public static let systemWallClock: @Sendable () -> Int = { Int(Date().timeIntervalSince1970 * 1000) }

  // MARK: Phones

  private func scan() async {
    for await event in scanner.scan() {
      switch event {
      case .started:
        isScanning = true
        scanTrouble = nil
        emit(.scanning)
      case .stopped(let reason):
        isScanning = false
        scanTrouble = reason
        emit(.notScanning(reason))
        context.logger.warning("not scanning", metadata: ["reason": "\(reason)"])
      case .seen(let sighting):
        if roster.sightings[sighting.id] == nil { emit(.seen(sighting)) }
        roster.see(sighting)
        await links[sighting.id]?.sighted(sighting)
        if roster.hasCandidates { admitWake.signal() }
      case .lost(let id):
        // A link that is up, or coming up, knows better than the scan.
        if reports[id]?.state == .waiting {
          await links[id]?.stop("out of sight")
        } else if links[id] == nil {
          roster.forget(id)
        }
      }
    }
    isScanning = false
  }

  /// Lets sightings gather, so that the strongest phone is not missed for the first.
  private func settle() async -> Bool {
    guard configuration.settle > .zero else { return true }
    do {
      try await context.time.sleep(for: configuration.settle)
      return true
    } catch {
      return false
    }
  }

  private func makeLink(_ sighting: PhoneSighting) -> PhoneLink {
    PhoneLink(sighting, configuration: configuration, context: context, connector: connector, gate: gate) {
      [weak self] report in await self?.update(report)
    }
  }

  private func update(_ report: LinkReport) {
    guard let name = links[report.id]?.name else { return }  // the last words of a link that has ended
    let old = reports[report.id]
    reports[report.id] = report
    if old?.state != report.state {
      emit(.link(report.id, name: name, report.state, reason: report.reason))
      context.logger.info(
        "link", metadata: ["phone": "\(report.id)", "state": "\(report.state)", "reason": "\(report.reason ?? "")"])
    }
    if let status = report.status, old?.status != status { emit(.status(report.id, name: name, status)) }
    dispatch()
  }

  private func ended(_ link: PhoneLink) {
    links[link.id] = nil
    reports[link.id] = nil
    roster.forget(link.id)
    if roster.hasCandidates { admitWake.signal() }
    dispatch()
  }
}
