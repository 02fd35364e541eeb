extension PhoneService {
  /// Sends replies one after another, chunk by chunk.
  func sendReplies() async {
    for await _ in senderWake.calls {
      sending: while !Task.isCancelled {
        switch machine.nextStep(at: time.now) {
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
      machine.didFailToSend()
      return
    }
    guard let whole = machine.didSend(at: time.now) else { return }
    await transport.setValue(Array(whole.bytes.prefix(WriteAssembler.valueLimit)), of: .response)
    runnerWake.signal()
  }

  // MARK: Status

  /// Asks engine and battery every poll interval, and pushes the status when that is due.
  func keepStatus() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.pollStatus() }
      group.addTask { await self.pushStatusWhenWoken() }
      await group.waitForAll()
    }
  }

  private func pollStatus() async {
    while !Task.isCancelled {
      statusWake.signal()
      machine.expire(at: time.now)
      do {
        try await time.sleep(for: configuration.statusPollInterval)
      } catch {
        return  // cancelled
      }
    }
  }

  private func pushStatusWhenWoken() async {
    for await _ in statusWake.calls {
      let status = await readStatus()
      if board.update(status, at: time.now) { await push(status) }
    }
  }

  /// The status as engine and battery are now; each has five seconds to say.
  func readStatus() async -> Wire.Status {
    let (engine, battery) = (engine, battery)
    let state = await ask("engine \(engine.name)", orElse: ModelState.error) { await engine.modelState() }
    return Wire.Status(modelState: state, batteryPct: await ask("battery", orElse: nil) { await battery() })
  }

  private func ask<Value: Sendable>(
    _ what: String, orElse fallback: Value, _ question: @Sendable @escaping () async -> Value
  ) async -> Value {
    do {
      return try await time.withLimit(.seconds(5), orThrow: EngineError(.timedOut, "no answer within 5 s"), question)
    } catch {
      guard !(error is CancellationError) else { return fallback }
      logger.warning("status unknown", metadata: ["of": "\(what)", "reason": "\(error)"])
      return fallback
    }
  }

  private func push(_ status: Wire.Status) async {
    let bytes = status.encoded()
    await transport.setValue(bytes, of: .status)
    for receiver in machine.statusReceivers {
      // One notification where it fits (MTU 49 and up), as the proxy parses each alone. Below, pieces: the proxy can
      // use neither those nor a notification cut off, and our central puts them together.
      let size = Chunker.notificationSize(mtu: machine.mtu(for: receiver))
      do {
        for (index, chunk) in Chunker.chunks(of: bytes, size: size).enumerated() {
          if index > 0 { try await time.sleep(for: configuration.chunkInterval) }
          try await transport.notify(.status, Array(chunk), to: receiver)
        }
        machine.didPushStatus()
      } catch {
        logger.debug(
          "status not pushed", metadata: ["central": "\(receiver?.rawValue ?? "all")", "reason": "\(error)"])
      }
    }
  }
}
