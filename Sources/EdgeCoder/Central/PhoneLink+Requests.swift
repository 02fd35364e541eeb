/// The requests in one phone's hands.
struct LinkRequests {
  /// Those someone waits for.
  var pending: [String: CheckedContinuation<Wire.Response, any Error>] = [:]
  /// Those not begun to be written, in order.
  var toWrite: [(id: String, bytes: [UInt8])] = []
  /// Those nobody waits for any more, with the instant from which no reply is expected. The phone still works on them.
  var abandoned: [String: Duration] = [:]

  /// The most abandoned requests remembered.
  static let abandonedLimit = 64

  mutating func abandon(_ id: String, until: Duration) {
    if abandoned.count >= Self.abandonedLimit, let oldest = abandoned.min(by: { $0.value < $1.value }) {
      abandoned[oldest.key] = nil
    }
    abandoned[id] = until
  }

  mutating func forgetAbandoned(before now: Duration) { abandoned = abandoned.filter { $0.value > now } }
}

extension PhoneLink {
  /// Sends one request and waits for its reply; cancelling gives it up.
  /// - Parameters:
  ///   - request: the request.
  ///   - bytes: the request as it is written where the phone has no v2 link.
  ///   - onText: gets the reply's text as it comes, where the phone has one.
  /// - Throws: ``InferenceError``, or `CancellationError`.
  func send(
    _ request: Wire.Request, _ bytes: [UInt8], onText: @Sendable (String) async -> Void
  ) async throws -> Wire.Response {
    if let client = link?.client { return try await send(request, over: client, onText: onText) }
    return try await write(id: request.id, bytes)
  }

  private func write(id: String, _ bytes: [UInt8]) async throws -> Wire.Response {
    guard let writerWake else {
      throw InferenceError(.disconnected, "the link to \(name) ended: \(machine.reason ?? "not ready")")
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        requests.pending[id] = continuation
        requests.toWrite.append((id, bytes))
        writerWake.signal()
      }
    } onCancel: {
      Task { await self.giveUp(id) }
    }
  }

  private func giveUp(_ id: String) async {
    guard let continuation = requests.pending.removeValue(forKey: id) else { return }
    continuation.resume(throwing: CancellationError())
    if let index = requests.toWrite.firstIndex(where: { $0.id == id }) {
      requests.toWrite.remove(at: index)
    } else {
      requests.forgetAbandoned(before: context.time.now)
      requests.abandon(id, until: context.time.now + configuration.requestTimeLimit)
      await report(current)
    }
  }

  /// Fails every request at once.
  func failPending(_ reason: String) {
    writerWake = nil
    let pending = requests.pending
    requests = LinkRequests()
    for continuation in pending.values {
      continuation.resume(throwing: InferenceError(.disconnected, "the link to \(name) ended: \(reason)"))
    }
  }

  // MARK: Serving

  /// Writes requests and takes replies until the connection ends.
  func serve() async -> LinkMachine.Event {
    guard let connection, let wake = writerWake else { return .failed("the connection ended") }
    let reason = await withTaskGroup(of: String?.self) { group in
      group.addTask { await self.receive(from: connection) }
      group.addTask { await self.readStatus(of: connection) }
      group.addTask { await self.writeRequests(to: connection, wake) }
      var reason: String?
      while reason == nil, let ended = await group.next() { reason = ended }
      failPending(reason ?? "the central stopped")
      group.cancelAll()
      return reason
    }
    return .failed(reason ?? "the central stopped")
  }

  private func writeRequests(to connection: any PhoneConnection, _ wake: Wake) async -> String? {
    let (time, limit) = (context.time, configuration.writeLimit)
    for await _ in wake.calls {
      while !requests.toWrite.isEmpty {
        let (id, bytes) = requests.toWrite.removeFirst()
        let size = Chunker.requestSize(mtu: await connection.mtu)
        do {
          for piece in Chunker.chunks(of: bytes, size: size) {
            try await time.withLimit(limit, orThrow: LinkError("writing a request", limit)) {
              try await connection.write(Array(piece))
            }
          }
        } catch {
          if Task.isCancelled { return nil }
          // The phone holds half a request now; only a new connection makes it forget.
          let continuation = requests.pending.removeValue(forKey: id)
          continuation?.resume(throwing: InferenceError(.writeFailed, "\(name) did not take the request: \(error)"))
          return "a request could not be written: \(error)"
        }
      }
    }
    return nil
  }

  /// Reads the status once. A phone on BlueZ 5.66 also learns our MTU by it, and one notify socket for all means that
  /// a second central is pushed nothing when it subscribes.
  private func readStatus(of connection: any PhoneConnection) async -> String? {
    let (time, limit) = (context.time, configuration.subscribeLimit)
    do {
      let bytes = try await time.withLimit(limit, orThrow: LinkError("reading the status", limit)) {
        try await connection.read(.status)
      }
      lastSeenMs = context.wallClock()
      // Empty when the phone has set no status yet; it will push one.
      if status == nil, !bytes.isEmpty { await take(try Wire.Status.decode(bytes)) }
    } catch {
      context.logger.debug("status not read", metadata: ["phone": "\(id)", "reason": "\(error)"])
    }
    return nil
  }

  private func receive(from connection: any PhoneConnection) async -> String? {
    for await event in connection.events {
      lastSeenMs = context.wallClock()
      switch event {
      case .notification(.response, let bytes):
        for event in responseScanner.receive(bytes, at: context.time.now) { await take(event) }
      case .notification(.status, let bytes):
        for case .object(let object) in statusScanner.receive(bytes, at: context.time.now) { await takeStatus(object) }
      case .notification(.request, _): break  // no notifications there
      case .rssi(let value):
        rssi = value
        await report(current)
      case .overflow: return "notifications were lost because they were read too slowly"
      case .disconnected(let reason): return reason
      }
    }
    return Task.isCancelled ? nil : "the connection ended"
  }

  private func take(_ event: JSONObjectScanner.Event) async {
    switch event {
    case .refused(let refusal):
      context.count { $0.discardedBytes += refusal.bytes }
      // Whose reply it was can be told from its beginning; nobody needs to wait for the end of it.
      guard let id = Wire.recoverID(fromHead: refusal.head) else { return }
      requests.pending.removeValue(forKey: id)?.resume(throwing: badReply(refusal))
    case .object(let bytes):
      do throws(Wire.Malformed) {
        let response = try Wire.Response.decode(bytes)
        if let continuation = requests.pending.removeValue(forKey: response.id) {
          continuation.resume(returning: response)
        } else if requests.abandoned.removeValue(forKey: response.id) != nil {
          context.count { $0.lateReplies += 1 }
          await report(current)
        } else {
          // Below BlueZ 5.76 a phone's replies reach every central; this one is for another.
          context.count { $0.foreignReplies += 1 }
        }
      } catch {
        context.count { $0.malformed += 1 }
        guard let id = error.id else { return }
        requests.pending.removeValue(forKey: id)?.resume(throwing: damagedReply("\(error.reason)"))
      }
    }
  }

  private func badReply(_ refusal: JSONObjectScanner.Refusal) -> InferenceError {
    switch refusal.reason {
    case .tooLarge: InferenceError(.badReply, "\(name) sent more than \(configuration.messageLimit) bytes")
    case .idle: InferenceError(.badReply, "\(name) stopped in the middle of a reply")
    case .malformed, .notAnObject: damagedReply("it is no JSON from byte \(refusal.bytes) on")
    }
  }

  private func damagedReply(_ reason: String) -> InferenceError {
    InferenceError(
      .badReply, "the reply of \(name) was damaged: \(reason)",
      hint: "does bluetoothd reorder notifications? set Channels = 1 under [GATT] in main.conf")
  }

  private func takeStatus(_ bytes: [UInt8]) async {
    do throws(Wire.Malformed) {
      await take(try Wire.Status.decode(bytes))
    } catch {
      context.count { $0.malformed += 1 }
    }
  }

  private func take(_ status: Wire.Status) async {
    guard status != self.status else { return }
    self.status = status
    await report(current)
  }
}
