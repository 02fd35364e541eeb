public import Logging
public import Timing

/// The phone role: accepts prompts from centrals, has them answered by an engine, and sends the replies.
///
/// One job runs at a time, first in, first out; replies go out strictly one after another. Run it with ``run()``,
/// which returns when its task is cancelled or the transport ends.
public actor PhoneService {
  let transport: any PhoneTransport
  let engine: any Engine
  let configuration: PhoneConfiguration
  let battery: @Sendable () async -> Int?
  let time: TimeSource
  let logger: Logger

  var machine: PhoneMachine
  var board: StatusBoard
  /// The job being answered, to cancel it.
  var answering: (number: Int, task: Task<JobOutcome, Never>)?

  /// The v2 links, by number.
  var links: [Int: LinkServer] = [:]
  var nextLink = 1

  let runnerWake = Wake()
  let senderWake = Wake()
  let statusWake = Wake()

  /// Makes the service; nothing happens before ``run()``.
  /// - Parameters:
  ///   - transport: the radio.
  ///   - engine: what answers prompts.
  ///   - configuration: limits and intervals.
  ///   - battery: the battery in percent, 0–100; `nil` when unknown, and then left out of the status.
  ///   - time: the monotonic clock.
  ///   - logger: where to log. No text of a prompt or a reply is ever logged.
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
    board = StatusBoard(interval: configuration.statusInterval)
  }

  /// Serves until the task is cancelled or the transport ends for good.
  public func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.receiveEvents() }
      group.addTask { await self.runJobs() }
      group.addTask { await self.sendReplies() }
      group.addTask { await self.keepStatus() }
      if let links = transport.links { group.addTask { await self.serve(links) } }
      await group.next()
      group.cancelAll()
    }
  }

  /// The role at this moment.
  public func snapshot() -> PhoneSnapshot {
    var counters = machine.counters
    counters.writesRefused += transport.writesRefused
    return PhoneSnapshot(
      isUp: machine.isUp, peers: machine.peers.peers.count, queued: machine.queue.waiting.count,
      isAnswering: machine.queue.running != nil, status: board.current, counters: counters)
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
        if let answering, answering.number == number { answering.task.cancel() }
      case .pushStatus:
        board.want()
        statusWake.signal()
      case .noteRefusal(let peer, let reason):
        logger.info("request refused", metadata: ["central": "\(peer)", "reason": "\(reason.rawValue)"])
      case .restoreValues:
        if let status = board.current { await transport.setValue(status.encoded(), of: .status) }
      case .endReply(let ticket, let outcome):
        await links[ticket.link]?.finish(
          ticket.stream, outcome.status, durationMs: outcome.durationMs, reason: outcome.ok ? "" : outcome.reason)
      }
    }
  }

  private func log(_ event: PhoneEvent) {
    switch event {
    case .transportUp: logger.info("the service can be reached")
    case .transportDown(let reason): logger.warning("the service cannot be reached", metadata: ["reason": "\(reason)"])
    case .connected(let peer): logger.info("central connected", metadata: ["central": "\(peer)"])
    case .disconnected(let peer): logger.info("central disconnected", metadata: ["central": "\(peer)"])
    case .mtu(let peer, let mtu): logger.debug("MTU", metadata: ["central": "\(peer)", "mtu": "\(mtu)"])
    case .subscribed(let peer, let characteristic, let mtu):
      logger.debug(
        "subscribed",
        metadata: [
          "central": "\(peer?.rawValue ?? "all")", "characteristic": "\(characteristic)",
          "mtu": "\(mtu.map(String.init) ?? "unknown")",
        ])
    case .unsubscribed(let peer, let characteristic):
      logger.debug(
        "unsubscribed",
        metadata: ["central": "\(peer?.rawValue ?? "all")", "characteristic": "\(characteristic)"])
    case .refused(let peer, let reason):
      logger.notice("central refused", metadata: ["central": "\(peer)", "reason": "\(reason.rawValue)"])
    case .write(let write):
      logger.trace("write", metadata: ["central": "\(write.peer)", "bytes": "\(write.bytes.count)"])
    }
  }
}
