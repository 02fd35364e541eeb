import FoundationEssentials
public import Logging
public import Streams
public import Timing

/// The central role: finds phones, keeps connections to the best of them, and sends each prompt to one.
///
/// ``run()`` runs once, until its task is cancelled.
///
/// ```swift
/// import BlueZ
///
/// let session = try await Session.open()
/// let radio = BlueZPhoneRadio(adapter: try await session.adapter())
/// let central = Central(scanner: radio, connector: radio)
/// let running = Task { await central.run() }
/// for await event in await central.events() {
///   guard case .connection(_, _, .ready, _) = event else { continue }
///   let reply = try await central.generate(prompt: "Why is the sky blue?", maxTokens: 64)
///   print(reply.answer)
///   break
/// }
/// running.cancel()
/// ```
public actor Central: InferenceService {
  /// The clocks and the random numbers of a central, which tests replace.
  public struct Environment: Sendable {
    /// The monotonic clock of timeouts and delays. Default: the clock of the system.
    public var time: TimeSource
    /// A closure that returns the wall-clock time in Unix milliseconds, for `lastSeenMs`.
    public var wallClock: @Sendable () -> Int64
    /// A closure that returns a random number, 0 to 1, for the jitter of connection attempts.
    public var random: @Sendable () -> Double
    /// A closure that returns the identifier of the next request: 1 to ``Wire/idLimit`` bytes, another one each time.
    /// Default: a random UUID in upper case.
    public var requestID: @Sendable () -> String

    /// Creates an environment; each part that is left out is that of the system.
    public init(
      time: TimeSource = .continuous, wallClock: @Sendable @escaping () -> Int64 = WallClock.unixMilliseconds,
      random: @Sendable @escaping () -> Double = { .random(in: 0...1) },
      requestID: (@Sendable () -> String)? = nil
    ) {
      self.time = time
      self.wallClock = wallClock
      self.random = random
      self.requestID = requestID ?? { UUID().uuidString }
    }
  }

  /// The state of the scan for phones.
  enum Scan {
    /// The scan has not started, or has ended.
    case idle
    case running
    /// The scan failed, with the reason for display.
    case stopped(String)
  }

  let configuration: CentralConfiguration
  let context: CentralContext
  let scanner: any PhoneScanner
  let connector: any PhoneConnector

  var list: PhoneList
  var phones: [PhoneID: ReconnectingPhone] = [:]
  var reports: [PhoneID: PhoneConnectionReport] = [:]
  /// The number of unanswered requests of each phone.
  var held: [PhoneID: Int] = [:]
  /// The longest time that each phone has needed for the first sign of a reply, since it was connected.
  var slowestSigns: [PhoneID: Duration] = [:]
  var waiting = RequestQueue()
  var scan = Scan.idle
  /// The phone that was best last, so that its name remains in the status after its loss.
  var lastBest: PhoneStatus?
  private let feed = UpdateFeed<CentralEvent>()
  private let admitWake = WakeSignal()

  /// Creates the central, which is idle until ``run()``.
  /// - Parameters:
  ///   - scanner: The scanner that finds phones.
  ///   - connector: The connector that connects to phones.
  ///   - configuration: The limits and intervals.
  ///   - environment: The clocks and the random numbers.
  ///   - logger: The logger, which never receives text of a prompt or a reply.
  public init(
    scanner: any PhoneScanner, connector: any PhoneConnector,
    configuration: CentralConfiguration = CentralConfiguration(), environment: Environment = Environment(),
    logger: Logger = Logger(label: "edgeblue.central")
  ) {
    self.scanner = scanner
    self.connector = connector
    self.configuration = configuration
    context = CentralContext(
      time: environment.time, wallClock: environment.wallClock, random: environment.random,
      requestID: environment.requestID, counters: Lock(CentralCounters()), logger: logger)
    list = PhoneList(phoneLimit: configuration.phoneLimit, capacity: configuration.phoneListLimit)
  }

  /// Finds phones and keeps connections to them until the task is cancelled.
  public func run() async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.scanForPhones() }
      for await _ in admitWake.signals {
        guard await settle() else { break }
        for found in list.admit() {
          let phone = makePhone(found)
          phones[found.id] = phone
          group.addTask {
            await phone.run()
            await self.stopped(phone)
          }
        }
      }
      group.cancelAll()
    }
    waiting.failAll(InferenceError(.noPhoneReady, "the central stopped"))
  }

  /// Returns the counters since the start.
  public func counters() -> CentralCounters { context.counters.withLock { $0 } }

  /// Returns a stream of the events from now on, for one consumer.
  ///
  /// A consumer that is more than 256 events behind loses the oldest, which ``CentralCounters/eventsDropped`` counts.
  public func events() -> BoundedStream<CentralEvent> { feed.updates(limit: 256, beginsWithNewest: false) }

  private func publish(_ event: CentralEvent) {
    let dropped = feed.publish(event)
    if dropped > 0 { context.count { $0.eventsDropped += dropped } }
  }

  // MARK: Phones

  private func scanForPhones() async {
    for await event in scanner.scan() {
      switch event {
      case .started:
        scan = .running
        publish(.scanning)
      case .stopped(let reason):
        scan = .stopped(reason)
        publish(.notScanning(reason))
        context.logger.warning("scan stopped", metadata: ["reason": "\(reason)"])
      case .found(let found):
        let known = list.results[found.id]
        list.lost.remove(found.id)
        list.add(found)
        // A refused phone that does not fit into the list is not reported, or strangers could fill every log.
        if list.results[found.id] != nil, known == nil || known?.refusal != found.refusal { publish(.found(found)) }
        await phones[found.id]?.update(from: found)
        if list.hasCandidates { admitWake.signal() }
      case .lost(let id):
        // A connection that is established, or being established, is better evidence than the scan.
        if reports[id]?.state == .waiting {
          await phones[id]?.stop("out of range")
        } else if phones[id] == nil {
          list.remove(id)
        } else {
          list.lost.insert(id)
        }
      }
    }
    if case .running = scan { scan = .idle }
  }

  /// Collects scan results, so that the strongest phone is connected and not just the first.
  private func settle() async -> Bool {
    guard configuration.settleTime > .zero else { return true }
    do {
      try await context.time.sleep(for: configuration.settleTime)
      return true
    } catch {
      return false
    }
  }

  private func makePhone(_ found: PhoneScanResult) -> ReconnectingPhone {
    ReconnectingPhone(
      found, configuration: configuration, context: context, connector: connector
    ) { [weak self] report in await self?.update(report) }
  }

  private func update(_ report: PhoneConnectionReport) {
    // The last report of a phone may follow its removal.
    guard let name = phones[report.id]?.name else { return }
    let old = reports[report.id]
    reports[report.id] = report
    if report.state != .ready { slowestSigns[report.id] = nil }
    if old?.state != report.state {
      publish(.connection(report.id, name: name, report.state, failure: report.failure))
      context.logger.info(
        "phone connection",
        metadata: [
          "phone": "\(report.id)", "state": "\(report.state)", "reason": "\(report.failure?.message ?? "")",
        ])
    }
    if let status = report.readings.status, old?.readings.status != status {
      publish(.status(report.id, name: name, status))
    }
    dispatch()
    // A phone under a new private address leaves the old one behind.
    if report.state == .waiting, list.lost.contains(report.id), let phone = phones[report.id] {
      Task { await phone.stop("out of range") }
    }
  }

  private func stopped(_ phone: ReconnectingPhone) {
    phones[phone.id] = nil
    reports[phone.id] = nil
    list.remove(phone.id)
    if list.hasCandidates { admitWake.signal() }
    dispatch()
  }
}
