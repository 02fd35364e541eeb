import Streams

/// The requests of one phone that use the characteristics.
struct PendingRequests {
  /// The requests whose callers wait for the reply.
  var pending: [String: CheckedContinuation<Wire.Response, any Error>] = [:]
  /// The requests that were not written yet, in order.
  var toWrite: [Wire.Request] = []
  /// The cancelled requests on which the phone still works, with the instant from which no reply is expected.
  var abandoned: [String: Duration] = [:]

  /// Returns the identifier as it was sent: a phone may return a UUID in lower case.
  func id(of received: String) -> String {
    if pending[received] != nil || abandoned[received] != nil { return received }
    let lower = received.lowercased()
    return (pending.keys.first { $0.lowercased() == lower } ?? abandoned.keys.first { $0.lowercased() == lower })
      ?? received
  }

  /// The number of abandoned requests that are remembered.
  static let abandonedLimit = 64

  mutating func abandon(_ id: String, until: Duration) {
    if abandoned.count >= Self.abandonedLimit, let oldest = abandoned.min(by: { $0.value < $1.value }) {
      abandoned[oldest.key] = nil
    }
    abandoned[id] = until
  }

  mutating func forgetAbandoned(before now: Duration) { abandoned = abandoned.filter { $0.value > now } }
}

/// The reply of a phone, over whichever bearer.
struct ReceivedReply: Sendable {
  var answer: Answer
  /// The end of the text as the engine reports it; `nil` for a refusal, and if the phone does not pass it on.
  var completion: Completion?
}

extension ReconnectingPhone {
  /// Sends one request and waits for its reply; cancelling the task abandons the request.
  /// - Parameters:
  ///   - request: The request, which the bearer that sends it encodes.
  ///   - onPart: Receives the parts of the reply as they arrive over a v2 mux. Without one it receives only which fields
  ///     had no effect.
  /// - Throws: ``InferenceError``, or `CancellationError`.
  func send(_ request: Wire.Request, onPart: @Sendable (ReplyPart) async -> Void) async throws -> ReceivedReply {
    // The choice of the phone has looked at this, but its mux may have closed since.
    if mux?.takesForms != true, let refusal = Set<RequestField>().refusal(of: request.details) {
      throw InferenceError(.unsupported, "\(name) \(refusal): its connection carries prompts alone")
    }
    if let client = mux?.client { return try await send(request, over: client, onPart: onPart) }
    let answer = try await write(request).answer
    let ignored = Set<RequestField>().ignored(of: request.details)
    if !ignored.isEmpty { await onPart(.ignored(ignored)) }
    // A JSON message says in the text itself that it was truncated.
    let isTruncated = answer.text.map(OutputAccumulator.isTruncated) ?? false
    return ReceivedReply(answer: answer, completion: isTruncated ? Completion(.length) : nil)
  }

  private func write(_ request: Wire.Request) async throws -> Wire.Response {
    guard let writerWake else { throw disconnected(machine.failure?.message ?? "not ready") }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        requests.pending[request.id] = continuation
        requests.toWrite.append(request)
        writerWake.signal()
      }
    } onCancel: {
      Task { await self.abandon(request.id) }
    }
  }

  private func disconnected(_ reason: String) -> InferenceError {
    InferenceError(.disconnected, "the connection to \(name) closed: \(reason)")
  }

  private func abandon(_ id: String) async {
    guard let continuation = requests.pending.removeValue(forKey: id) else { return }
    continuation.resume(throwing: CancellationError())
    if let index = requests.toWrite.firstIndex(where: { $0.id == id }) {
      requests.toWrite.remove(at: index)
    } else {
      requests.forgetAbandoned(before: context.time.now)
      requests.abandon(id, until: context.time.now + configuration.requests.timeout)
      await report(current)
    }
  }

  /// Fails all requests at once.
  func failPending(_ failure: PhoneConnectionFailure) {
    writerWake = nil
    let pending = requests.pending
    requests = PendingRequests()
    for continuation in pending.values { continuation.resume(throwing: disconnected(failure.message)) }
  }

  // MARK: Serving

  /// Writes requests and receives replies until the connection closes.
  func serve() async -> PhoneConnectionMachine.Event {
    guard let connection, let wake = writerWake else { return .failed(Self.closed) }
    let reason = await withTaskGroup(of: String?.self) { group in
      group.addTask { await self.receive(from: connection) }
      group.addTask { await self.readStatus(of: connection) }
      group.addTask { await self.writeRequests(to: connection, wake) }
      var reason: String?
      while reason == nil, let ended = await group.next() { reason = ended }
      failPending(PhoneConnectionFailure(.failed, reason ?? "the central stopped"))
      group.cancelAll()
      return reason
    }
    return .failed(PhoneConnectionFailure(.failed, reason ?? "the central stopped"))
  }

  private func writeRequests(to connection: any PhoneConnection, _ wake: WakeSignal) async -> String? {
    let time = context.time
    let timeout = configuration.timeouts.write
    for await _ in wake.signals {
      while !requests.toWrite.isEmpty {
        let request = requests.toWrite.removeFirst()
        let size = Chunker.requestSize(mtu: await connection.mtu)
        do {
          for chunk in Chunker.chunks(of: request.encoded(), size: size) {
            try await time.withLimit(timeout, orThrow: PhaseTimeout("writing a request", timeout)) {
              try await connection.write(Array(chunk))
            }
          }
        } catch {
          if Task.isCancelled { return nil }
          // The phone has half a request now, which it discards with the connection.
          let continuation = requests.pending.removeValue(forKey: request.id)
          continuation?.resume(throwing: InferenceError(.writeFailed, "\(name) did not accept the request: \(error)"))
          return "writing a request failed: \(error)"
        }
      }
    }
    return nil
  }

  /// Reads the status once, if the phone does not send it.
  ///
  /// With one notify socket for all, as before BlueZ 5.69, a second central receives no status when it subscribes. A phone
  /// that leaves the read without a reply accepts no request meanwhile and loses its connection after 30 s, so it is read
  /// no more.
  private func readStatus(of connection: any PhoneConnection) async -> String? {
    let time = context.time
    let timeout = configuration.timeouts.subscribe
    guard readings.answersReads else { return nil }
    do {
      try await time.sleep(for: configuration.timeouts.status)
      guard readings.status == nil else { return nil }
      let bytes = try await time.withLimit(timeout, orThrow: PhaseTimeout("reading the status", timeout)) {
        try await connection.read(.status)
      }
      readings.lastSeenMs = context.wallClockMs()
      // Empty when the phone has set no status yet; it will send one.
      if readings.status == nil, !bytes.isEmpty { await update(try Wire.Status.decode(bytes)) }
    } catch {
      if error is PhaseTimeout { readings.answersReads = false }
      context.logger.debug("status not read", metadata: ["phone": "\(id)", "reason": "\(error)"])
    }
    return nil
  }

  private func receive(from connection: any PhoneConnection) async -> String? {
    for await event in connection.events {
      readings.lastSeenMs = context.wallClockMs()
      switch event {
      case .notification(.response, let bytes):
        for event in scanners.response.receive(bytes, at: context.time.now) { await handle(event) }
      case .notification(.status, let bytes):
        for case .object(let object) in scanners.status.receive(bytes, at: context.time.now) {
          await receiveStatus(object)
        }
      case .notification(.request, _): break  // the characteristic does not notify
      case .rssi(let value):
        readings.rssi = value
        await report(current)
      case .overflow: return "notifications were lost because they were read too slowly"
      case .disconnected(let reason): return reason
      }
    }
    return Task.isCancelled ? nil : "the connection closed"
  }

  private func handle(_ event: JSONObjectScanner.Event) async {
    switch event {
    case .refused(let refusal):
      context.count { $0.discardedBytes += refusal.bytes }
      // The start of the reply identifies its request, which fails without waiting for the end of the reply.
      guard let id = Wire.recoverID(fromHead: refusal.head) else { return }
      requests.pending.removeValue(forKey: requests.id(of: id))?.resume(throwing: badReply(refusal))
    case .object(let bytes):
      do throws(Wire.Malformed) {
        let response = try Wire.Response.decode(bytes)
        if let continuation = requests.pending.removeValue(forKey: requests.id(of: response.id)) {
          continuation.resume(returning: response)
        } else if requests.abandoned.removeValue(forKey: requests.id(of: response.id)) != nil {
          context.count { $0.lateReplies += 1 }
          await report(current)
        } else {
          // Before BlueZ 5.76 the replies of a phone reach every central; this one is for another.
          context.count { $0.foreignReplies += 1 }
        }
      } catch {
        context.count { $0.malformed += 1 }
        guard let id = error.id else { return }
        requests.pending.removeValue(forKey: requests.id(of: id))?.resume(throwing: damagedReply("\(error.reason)"))
      }
    }
  }

  private func badReply(_ refusal: JSONObjectScanner.Refusal) -> InferenceError {
    switch refusal.reason {
    case .tooLarge:
      InferenceError(.badReply, "the reply of \(name) exceeds \(configuration.messageLimit) bytes")
    case .idle: InferenceError(.badReply, "\(name) stopped in the middle of a reply")
    case .malformed, .notAnObject: damagedReply("it is not JSON from byte \(refusal.bytes) on")
    }
  }

  private func damagedReply(_ reason: String) -> InferenceError {
    InferenceError(
      .badReply, "the reply of \(name) was damaged: \(reason)",
      hint: "bluetoothd may reorder notifications: set Channels = 1 under [GATT] in main.conf")
  }

  private func receiveStatus(_ bytes: [UInt8]) async {
    do throws(Wire.Malformed) {
      await update(try Wire.Status.decode(bytes))
    } catch {
      context.count { $0.malformed += 1 }
    }
  }

  private func update(_ status: Wire.Status) async {
    guard status != readings.status else { return }
    readings.status = status
    await report(current)
  }
}
