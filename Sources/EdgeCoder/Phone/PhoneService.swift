public import Logging
public import Streams
public import Timing

/// The phone role: receives prompts from centrals, runs them with an engine, and sends the replies.
///
/// As many requests are answered at a time as the engine bears, in turn between centrals, in the order of arrival of each.
/// Replies over the response characteristic are sent one after another. ``run()`` serves until its task is cancelled or the
/// transport ends.
///
/// ```swift
/// import BlueZ
///
/// let session = try await Session.open()
/// let transport = try await BlueZPhoneTransport.start(on: session.adapter(), name: "Workshop")
/// let phone = PhoneService(transport: transport, engine: EchoEngine())
/// await phone.run()
/// ```
public actor PhoneService {
  /// The work on requests.
  struct Work {
    /// The requests that are being answered, by the number of the job.
    var running: [Int: Task<JobOutcome, Never>] = [:]
    /// The numbers of requests ahead that centrals were told last.
    var reportedAhead: [MuxStream: Int] = [:]
  }

  let transport: any PhoneTransport
  let engine: any Engine
  let configuration: PhoneConfiguration
  let battery: @Sendable () async -> Int?
  let time: TimeSource
  let logger: Logger

  var machine: PhoneMachine
  var board: StatusBoard
  var work = Work()
  let feed = UpdateFeed<PhoneEvent>()

  /// The open v2 muxes by number.
  var muxes: [Int: MuxServer] = [:]
  var nextMux = 1

  let runnerWake = WakeSignal()
  let senderWake = WakeSignal()
  let statusWake = WakeSignal()

  /// Creates the service, which is idle until ``run()``.
  /// - Parameters:
  ///   - transport: The radio of the phone.
  ///   - engine: The engine that answers the prompts.
  ///   - configuration: The limits and intervals.
  ///   - battery: Returns the battery level in percent, 0 to 100; `nil` leaves it out of the status.
  ///   - time: The monotonic clock.
  ///   - logger: The logger, which never receives text of a prompt or a reply.
  public init(
    transport: any PhoneTransport, engine: any Engine, configuration: PhoneConfiguration = PhoneConfiguration(),
    battery: @Sendable @escaping () async -> Int? = { nil }, time: TimeSource = .continuous,
    logger: Logger = Logger(label: "edgeblue.phone")
  ) {
    self.transport = transport
    self.engine = engine
    self.configuration = configuration
    self.battery = battery
    self.time = time
    self.logger = logger
    machine = PhoneMachine(configuration: configuration, addressesSinglePeer: transport.addressesSinglePeer)
    board = StatusBoard(interval: configuration.status.interval)
  }

  /// Serves until the task is cancelled or the transport ends.
  public func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.receiveEvents() }
      group.addTask { await self.runJobs() }
      group.addTask { await self.sendReplies() }
      group.addTask { await self.keepStatus() }
      if let channels = transport.muxChannels { group.addTask { await self.serve(channels) } }
      await group.next()
      group.cancelAll()
    }
  }

  /// Returns a snapshot of the role with its counters.
  public func snapshot() -> PhoneSnapshot {
    var counters = machine.counters
    counters.refused.writes += transport.writesRefused
    return PhoneSnapshot(
      isUp: machine.isUp, peers: machine.peers.peers.count, queued: machine.queue.waiting.count,
      isAnswering: !machine.queue.running.isEmpty, status: board.current, counters: counters)
  }

  /// Returns a stream of events for one consumer.
  ///
  /// The stream starts with the present state: ``PhoneEvent/up`` if the service is up, ``PhoneEvent/centrals(_:)`` if a
  /// central is connected, and the last ``PhoneEvent/status(_:)`` if there is one. A consumer that falls behind loses the
  /// oldest events, which the stream counts in `dropped`.
  /// - Parameter limit: The number of events that may wait for the consumer.
  public func events(limit: Int = 256) -> BoundedStream<PhoneEvent> {
    var state: [PhoneEvent] = machine.isUp ? [.up] : []
    if !machine.peers.peers.isEmpty { state.append(.centrals(machine.peers.peers.count)) }
    if let status = board.current { state.append(.status(status)) }
    return feed.updates(limit: limit, beginningWith: state)
  }

  private func receiveEvents() async {
    for await event in transport.events {
      log(event)
      await perform(machine.handle(event, at: time.now))
    }
  }

  func perform(_ actions: [PhoneMachine.Action]) async {
    for action in actions {
      switch action {
      case .wakeRunner: runnerWake.signal()
      case .wakeSender: senderWake.signal()
      case .cancelJob(let number):
        work.running[number]?.cancel()
      case .pushStatus:
        board.requestPush()
        statusWake.signal()
      case .logRefusal(let peer, let cause):
        logger.info("request refused", metadata: ["central": "\(peer)", "reason": "\(cause.rawValue)"])
      case .report(let event): feed.publish(event)
      case .restoreValues:
        if let status = board.current { await transport.setValue(status.encoded(), of: .status, for: nil) }
      case .setResponse(let value, let peer): await transport.setValue(value, of: .response, for: peer)
      case .finishReply(let stream, let outcome): await finish(stream, outcome)
      }
    }
  }

  private func log(_ event: PhoneTransportEvent) {
    func name(_ peer: PeerID?) -> Logger.MetadataValue { "\(peer?.rawValue ?? "all")" }
    switch event {
    case .transportUp: logger.info("service reachable")
    case .transportDown(let reason): logger.warning("service unreachable", metadata: ["reason": "\(reason)"])
    case .connected(let peer): logger.info("central connected", metadata: ["central": name(peer)])
    case .disconnected(let peer): logger.info("central disconnected", metadata: ["central": name(peer)])
    case .mtu(let peer, let mtu): logger.debug("MTU", metadata: ["central": name(peer), "mtu": "\(mtu)"])
    case .subscribed(let peer, let characteristic, let mtu):
      logger.debug(
        "subscribed",
        metadata: [
          "central": name(peer), "characteristic": "\(characteristic)",
          "mtu": "\(mtu.map(String.init) ?? "unknown")",
        ])
    case .unsubscribed(let peer, let characteristic):
      logger.debug("unsubscribed", metadata: ["central": name(peer), "characteristic": "\(characteristic)"])
    case .accessRefused(let peer, let reason):
      logger.notice("central refused", metadata: ["central": name(peer), "reason": "\(reason.rawValue)"])
    case .writeRefused(let peer): logger.debug("write refused", metadata: ["central": name(peer)])
    case .write(let write):
      logger.trace("write", metadata: ["central": name(write.peer), "bytes": "\(write.bytes.count)"])
    }
  }
}
