extension PhoneService {
  /// Sends replies one after another, chunk by chunk.
  func sendReplies() async {
    for await _ in senderWake.signals {
      sending: while !Task.isCancelled {
        switch machine.nextSend(at: time.now) {
        case .nothing: break sending
        case .wait(let instant):
          do {
            try await time.sleep(until: instant)
          } catch {
            return  // cancelled
          }
        case .send(let chunk, let reply): await send(chunk, of: reply)
        }
      }
      runnerWake.signal()
    }
  }

  private func send(_ chunk: [UInt8], of reply: PhoneReply) async {
    do {
      try await transport.notify(.response, chunk, to: machine.receiver(reply.peer))
    } catch {
      logger.warning("reply not sent", metadata: ["central": "\(reply.peer)", "reason": "\(error)"])
      return await perform(machine.didFailToSend())
    }
    await perform(machine.didSend(at: time.now))
  }

  // MARK: Status

  /// Polls the engine and the battery, and sends the status when that is due.
  func keepStatus() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.pollStatus() }
      group.addTask { await self.pushStatusWhenWoken() }
      await group.waitForAll()
    }
  }

  private func pollStatus() async {
    var polledAt: Duration?
    while !Task.isCancelled {
      let now = time.now
      // No central is there that a change would matter to, and the next one wakes the status.
      let rests = machine.peers.peers.isEmpty && board.current?.modelState == ModelState.ready.rawValue
      if !rests || polledAt.map({ now - $0 >= configuration.status.interval }) ?? true {
        statusWake.signal()
        polledAt = now
      }
      await perform(machine.expire(at: time.now))
      do {
        let interval = configuration.status.pollInterval
        // At rest it waits for something else that wakes the processor.
        try await time.sleep(for: interval, tolerance: rests ? interval * 2 : .zero)
      } catch {
        return  // cancelled
      }
    }
  }

  private func pushStatusWhenWoken() async {
    for await _ in statusWake.signals {
      let status = await readStatus()
      await readSlots()
      let isNew = status != board.current
      guard board.update(status, at: time.now) else { continue }
      if isNew { feed.publish(.status(status)) }
      await push(status)
    }
  }

  /// Returns the present status of the engine and the battery, with a timeout of 5 s each.
  func readStatus() async -> Wire.Status {
    let engine = engine
    let battery = battery
    let state = await read("engine \(engine.name)", orElse: ModelState.error) { await engine.modelState() }
    return Wire.Status(modelState: state, batteryPct: await read("battery", orElse: nil) { await battery() })
  }

  /// Asks the engine how many requests it bears at a time, unless the configuration says so.
  private func readSlots() async {
    let engine = engine
    var slots = configuration.queue.parallel
    if slots == nil { slots = await read("engine \(engine.name)", orElse: 1) { await engine.slots() } }
    let before = machine.queue.slots
    machine.queue.slots = min(max(1, slots ?? 1), PhoneConfiguration.Queue.parallelLimit)
    if machine.queue.slots > before { runnerWake.signal() }
  }

  private func read<Value: Sendable>(
    _ source: String, orElse fallback: Value, _ operation: @Sendable @escaping () async -> Value
  ) async -> Value {
    do {
      return try await time.withLimit(.seconds(5), orThrow: EngineError(.timedOut, "no reply within 5 s"), operation)
    } catch {
      guard !(error is CancellationError) else { return fallback }
      logger.warning("status unknown", metadata: ["of": "\(source)", "reason": "\(error)"])
      return fallback
    }
  }

  private func push(_ status: Wire.Status) async {
    let bytes = status.encoded()
    await transport.setValue(bytes, of: .status, for: nil)
    for receiver in machine.statusReceivers {
      // One notification where it fits (an MTU of 49), because the EdgeCoder proxy parses each by itself. Below, chunks:
      // the proxy can use neither these nor a truncated notification, and our central joins them.
      let size = Chunker.notificationSize(mtu: machine.mtu(for: receiver))
      do {
        for (index, chunk) in Chunker.chunks(of: bytes, size: size).enumerated() {
          if index > 0 { try await time.sleep(for: configuration.chunkInterval) }
          try await transport.notify(.status, Array(chunk), to: receiver)
        }
        machine.didPushStatus()
      } catch {
        logger.debug(
          "status not sent", metadata: ["central": "\(receiver?.rawValue ?? "all")", "reason": "\(error)"])
      }
    }
  }
}
