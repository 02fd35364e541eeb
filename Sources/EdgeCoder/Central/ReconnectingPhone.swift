import Logging
import Streams
import Timing

/// The report of a phone to the central after a change.
struct PhoneConnectionReport: Sendable, Equatable {
  var id: PhoneID
  var state: PhoneConnectionState
  var failure: PhoneConnectionFailure?
  var readings: PhoneReadings
  var abandoned: Int
  /// The bearer of the v2 mux; `nil` if requests use the characteristics.
  var muxBearer: MuxBearer?
  /// A Boolean value that indicates whether the connection carries the details of requests.
  var takesDetails: Bool
}

/// The last values received from a phone.
struct PhoneReadings: Sendable, Equatable {
  var status: Wire.Status?
  /// The signal strength in dBm.
  var rssi: Int?
  /// The wall-clock time of the last sign of life, in Unix milliseconds.
  var lastSeenMs: Int?
  /// A Boolean value that indicates whether the phone answers reads; `false` once one got no reply.
  var answersReads = true
}

/// The connection to one phone, reconnected on loss: sends requests and delivers their replies.
///
/// ``PhoneConnectionMachine`` decides, this actor performs. A request is always written to its end, also after its
/// cancellation: half a request would corrupt the next one.
actor ReconnectingPhone {
  /// The v2 mux of the connection.
  struct Mux {
    let client: MuxClient
    let bearer: MuxBearer
    /// A Boolean value that indicates whether the phone accepts forms; `false` before its WELCOME.
    var takesForms = false
    let task: Task<Void, Never>
  }

  /// The scanners of the two notifying characteristics.
  struct Scanners {
    var response: JSONObjectScanner
    var status: JSONObjectScanner
  }

  /// The end of the connection that the central demands.
  private struct Stopping {
    let wake = WakeSignal()
    var reason = PhoneConnectionFailure(.failed, "the central stopped")
  }

  /// The scan results of a phone that may advertise under another address next time.
  private struct Hearing {
    var mayChangeAddress = false
    /// Raised by scan results since the last failure; `nil` when the next attempt does not wait for one.
    var wake: WakeSignal?
  }

  nonisolated let id: PhoneID
  nonisolated let name: String
  let configuration: CentralConfiguration
  let context: CentralContext
  let connector: any PhoneConnector
  let report: @Sendable (PhoneConnectionReport) async -> Void

  var machine: PhoneConnectionMachine
  var connection: (any PhoneConnection)?
  var mux: Mux?
  var requests = PendingRequests()
  var scanners: Scanners
  var readings: PhoneReadings
  /// Wakes the writer of the present connection; `nil` while no request can be sent.
  var writerWake: WakeSignal?
  private var stopping = Stopping()
  private var hearing = Hearing()

  init(
    _ found: PhoneScanResult, configuration: CentralConfiguration, context: CentralContext,
    connector: any PhoneConnector,
    report: @Sendable @escaping (PhoneConnectionReport) async -> Void
  ) {
    id = found.id
    name = found.name
    readings = PhoneReadings(rssi: found.rssi, lastSeenMs: context.wallClockMs())
    self.configuration = configuration
    self.context = context
    self.connector = connector
    self.report = report
    machine = PhoneConnectionMachine(configuration.reconnection)
    hearing.mayChangeAddress = found.mayChangeAddress
    scanners = Scanners(
      response: JSONObjectScanner(sizeLimit: configuration.messageLimit, idleLimit: configuration.idleLimit),
      status: JSONObjectScanner(sizeLimit: 4096, idleLimit: configuration.idleLimit))
  }

  /// The present report.
  var current: PhoneConnectionReport {
    PhoneConnectionReport(
      id: id, state: machine.state, failure: machine.failure, readings: readings,
      abandoned: requests.abandoned.count, muxBearer: mux?.bearer,
      takesDetails: mux?.takesForms ?? false)
  }

  /// Keeps the connection until it is stopped, the task is cancelled, or the phone failed too often.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.drive() }
      group.addTask {
        for await _ in await self.stopping.wake.signals { return }
      }
      await group.next()
      group.cancelAll()
    }
  }

  /// Stops the connection, with the reason for display.
  func stop(_ reason: String) {
    stopping.reason = PhoneConnectionFailure(.failed, reason)
    stopping.wake.signal()
  }

  /// Updates the signal strength from a scan result, and ends the wait for one.
  func update(from found: PhoneScanResult) async {
    hearing.mayChangeAddress = found.mayChangeAddress
    hearing.wake?.signal()
    readings.lastSeenMs = context.wallClockMs()
    guard let rssi = found.rssi, rssi != readings.rssi else { return }
    readings.rssi = rssi
    await report(current)
  }

  // MARK: Actions

  private func drive() async {
    var next: PhoneConnectionMachine.Event? = .start
    while let event = next {
      if case .failed = event { hearing.wake = hearing.mayChangeAddress ? WakeSignal() : nil }
      let actions = machine.handle(
        Task.isCancelled ? .stop(stopping.reason) : event, at: context.time.now, random: context.random())
      // Before the report that the connection is ready, because a request may follow at once.
      if machine.state == .ready { writerWake = WakeSignal() }
      await report(current)
      next = nil
      for action in actions {
        switch action {
        case .connect: next = await connect()
        case .subscribe: next = await subscribe()
        case .serve: next = await serve()
        case .wait(let delay): next = await wait(delay)
        case .failPending(let failure): failPending(failure)
        case .disconnect: await disconnect()
        }
      }
    }
  }

  private func connect() async -> PhoneConnectionMachine.Event {
    let id = id
    let connector = connector
    // A connection that is established just at the timeout would otherwise be lost, and stay open.
    let made = Lock<(any PhoneConnection)?>(nil)
    do {
      let rank = DialQueue.Rank(failures: machine.failures, rssi: readings.rssi)
      try await context.dials.dial(rank, configuration.timeouts, context.time) {
        await connector.isLinked(to: id)
      } _: {
        let connection = try await connector.connect(to: id)
        made.withLock { $0 = connection }
      }
      connection = made.withLock { $0 }
      return .connected
    } catch {
      if let connection = made.withLock({ $0 }) { await Self.disconnect(connection) }
      return .failed(PhoneConnectionFailure(error))
    }
  }

  private func subscribe() async -> PhoneConnectionMachine.Event {
    guard let connection else { return .failed(Self.closed) }
    let time = context.time
    let timeouts = configuration.timeouts
    do {
      try await time.withLimit(timeouts.pairing, orThrow: PhaseTimeout("pairing", timeouts.pairing)) {
        try await connection.secure()
      }
      for characteristic in [EdgeCoderCharacteristic.response, .status] {
        let late = PhaseTimeout("subscribing to \(characteristic)", timeouts.subscribe)
        try await time.withLimit(timeouts.subscribe, orThrow: late) {
          try await connection.subscribe(to: characteristic)
        }
      }
      await openMux(of: connection)
      return .subscribed
    } catch {
      return .failed(PhoneConnectionFailure(error))
    }
  }

  private func wait(_ delay: Duration) async -> PhoneConnectionMachine.Event {
    do {
      if let wake = hearing.wake {
        try await waitUntilHeard(wake, delay)
      } else {
        try await context.time.sleep(for: delay)
      }
      return .retry
    } catch {
      return .stop(stopping.reason)
    }
  }

  /// Waits until a scan reports the phone, at least for the delay, and no longer than the phone is listened for.
  ///
  /// A controller that dials hears nobody, so a phone that has changed its address would not be found while the central
  /// dials the one of before.
  private func waitUntilHeard(_ wake: WakeSignal, _ delay: Duration) async throws {
    let time = context.time
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await time.sleep(for: delay)
        for await _ in wake.signals { return }
        try Task.checkCancellation()
      }
      group.addTask { [limit = max(delay, configuration.timeouts.hearing)] in try await time.sleep(for: limit) }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private func disconnect() async {
    mux.take()?.task.cancel()
    if let connection = connection.take() { await Self.disconnect(connection) }
    readings.status = nil
    scanners.response.reset()
    scanners.status.reset()
  }

  static let closed = PhoneConnectionFailure(.failed, "the connection closed")

  /// Disconnects, also in a task that is cancelled: a connection left behind occupies the phone.
  private static func disconnect(_ connection: any PhoneConnection) async {
    await Task { await connection.disconnect() }.value
  }
}

/// The error of a phase of a connection that exceeded its timeout.
struct PhaseTimeout: Error, CustomStringConvertible {
  let description: String

  init(_ phase: String, _ timeout: Duration) {
    description = "\(phase) took longer than \(timeout.milliseconds(rounded: .towardZero)) ms"
  }
}

/// The clocks, the randomness, the counters and the logger that the parts of a central share.
struct CentralContext: Sendable {
  let time: TimeSource
  /// Returns the wall-clock time in Unix milliseconds.
  let wallClock: @Sendable () -> Int64
  /// Returns a random number, 0 to 1.
  let random: @Sendable () -> Double
  /// Returns the identifier of the next request.
  let requestID: @Sendable () -> String
  let counters: Lock<CentralCounters>
  let logger: Logger
  let dials = DialQueue()

  func count(_ change: (inout CentralCounters) -> Void) { counters.withLock(change) }

  func wallClockMs() -> Int { Int(wallClock()) }
}
