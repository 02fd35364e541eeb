import FoundationEssentials
import Streams
import Timing

extension Central {
  /// Sends one prompt to the best phone that is ready and returns its reply; see ``InferenceService``.
  public func generate(
    prompt: String, maxTokens: Int?, onText: @Sendable @escaping (String) async -> Void
  ) async throws -> InferenceReply {
    let request = Wire.Request(id: UUID().uuidString, prompt: prompt, maxTokens: maxTokens)
    let bytes = request.encoded()
    context.count { $0.requests += 1 }
    do {
      guard bytes.count <= configuration.messageLimit else {
        throw InferenceError(
          .requestTooLarge, "the request has \(bytes.count) bytes, the limit is \(configuration.messageLimit)")
      }
      let started = context.time.now
      let (response, phone) = try await exchange(request, bytes, onText)
      context.count { $0.replies += 1 }
      return InferenceReply(
        id: response.id, output: response.output, ok: response.ok,
        durationMs: (context.time.now - started).milliseconds, phone: phone)
    } catch {
      context.count { if error is CancellationError { $0.cancelled += 1 } else { $0.failures += 1 } }
      throw error
    }
  }

  private func exchange(
    _ request: Wire.Request, _ bytes: [UInt8], _ onText: @Sendable @escaping (String) async -> Void
  ) async throws -> (Wire.Response, phone: String) {
    let limits = ProgressLimits(
      first: configuration.requestTimeLimit, pause: configuration.requestTimeLimit,
      total: configuration.streamTimeLimit)
    let (phase, started) = (Lock(RequestPhase.waiting), context.time.now)
    return try await context.time.withLimits(
      limits,
      orThrow: { phase.withLock { $0.timedOut(after: self.context.time.now - started, limits) } }
    ) { step in
      let link = try await self.acquire()
      phase.withLock { $0 = .asked(link.name) }
      do {
        let response = try await link.send(request, bytes) { piece in
          phase.withLock { $0 = .streaming(link.name) }
          step()
          await onText(piece)
          // Who takes the text slowly holds up the phone: that it was taken is a step, too.
          step()
        }
        await self.release(link.id)
        return (response, link.name)
      } catch {
        await self.release(link.id)
        throw error
      }
    }
  }

  // MARK: Choosing

  private var candidates: [Router.Candidate] {
    reports.values.map { report in
      Router.Candidate(
        id: report.id, isReady: report.state == .ready && links[report.id] != nil,
        modelState: report.status?.modelState, pending: held[report.id] ?? 0, abandoned: report.abandoned,
        batteryPct: report.status?.batteryPct, rssi: report.rssi)
    }
  }

  /// A place at the best phone, at once or when one is free. To be given back with ``release(_:)``.
  private func acquire() async throws -> PhoneLink {
    try Task.checkCancellation()
    if waiters.isEmpty, let link = try take() { return link }
    guard waiters.count < configuration.waitingLimit else {
      throw InferenceError(
        .busy, "\(waiters.count) requests are waiting for a phone", hint: "try again later, or add a phone")
    }
    let ticket = nextTicket
    nextTicket += 1
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiters.append(Waiter(ticket: ticket, continuation: $0)) }
    } onCancel: {
      Task { await self.giveUp(ticket) }
    }
  }

  private func giveUp(_ ticket: Int) {
    guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return }
    waiters.remove(at: index).continuation.resume(throwing: CancellationError())
  }

  private func release(_ id: PhoneID) {
    let left = (held[id] ?? 1) - 1
    held[id] = left > 0 ? left : nil
    dispatch()
  }

  /// Takes a place at the best phone; `nil` when all are taken.
  private func take() throws -> PhoneLink? {
    switch Router.choose(from: candidates, places: configuration.requestsPerPhone) {
    case .phone(let id):
      guard let link = links[id] else { return nil }
      held[id, default: 0] += 1
      return link
    case .wait: return nil
    case .none: throw noPhoneReady()
    }
  }

  /// Gives waiting requests their places, as far as there are any.
  func dispatch() {
    while !waiters.isEmpty {
      do {
        guard let link = try take() else { return }
        waiters.removeFirst().continuation.resume(returning: link)
      } catch {
        // No link is ready any more: nobody waits for a phone that may never come back.
        for waiter in waiters { waiter.continuation.resume(throwing: error) }
        waiters = []
      }
    }
  }

  func failWaiters(_ reason: String) {
    for waiter in waiters { waiter.continuation.resume(throwing: InferenceError(.noPhoneReady, reason)) }
    waiters = []
  }

  private func noPhoneReady() -> InferenceError {
    let known = reports.values.sorted { $0.id < $1.id }.map { report in
      "\(links[report.id]?.name ?? report.id.rawValue) is \(report.state)" + (report.reason.map { " (\($0))" } ?? "")
    }
    guard known.isEmpty else { return InferenceError(.noPhoneReady, known.joined(separator: ", ")) }
    if let scanTrouble { return InferenceError(.noPhoneReady, "not looking for phones: \(scanTrouble)") }
    return InferenceError(.noPhoneReady, "no phone is in sight", hint: "start one with `edgeblue phone`")
  }

  // MARK: Status

  /// A snapshot: the best phone, and every phone the central knows of.
  public func status() async -> CentralStatus {
    var current: [PhoneID: LinkReport] = [:]
    for link in links.values { current[link.id] = await link.current }
    let order = Router.order(candidates).map(\.id)
    var phones = order.compactMap { id -> PhoneStatus? in
      guard let report = current[id] else { return nil }
      return PhoneStatus(
        id: id.rawValue, name: links[id]?.name ?? id.rawValue, state: report.state.rawValue,
        modelState: report.status?.modelState ?? "unknown", batteryPct: report.status?.batteryPct, rssi: report.rssi,
        pending: (held[id] ?? 0) + report.abandoned, lastSeenMs: report.lastSeenMs, linkBearer: report.linkBearer)
    }
    for sighting in roster.sightings.values.sorted(by: { $0.id < $1.id }) where current[sighting.id] == nil {
      phones.append(
        PhoneStatus(
          id: sighting.id.rawValue, name: sighting.name, state: LinkState.discovered.rawValue, rssi: sighting.rssi))
    }
    let isConnected = candidates.contains(where: \.isReady)
    if let best = phones.first, isConnected || lastBest == nil { lastBest = best }
    let best = lastBest
    return CentralStatus(
      connected: isConnected, scanning: isScanning, modelState: best?.modelState ?? "unknown",
      lastSeenMs: phones.compactMap(\.lastSeenMs).max() ?? best?.lastSeenMs, deviceName: best?.name,
      deviceId: best?.id, batteryPct: best?.batteryPct, rssi: best?.rssi, phones: phones, route: .bluetooth)
  }
}

/// How far a request has come.
private enum RequestPhase: Sendable {
  case waiting
  case asked(String)
  case streaming(String)

  func timedOut(after time: Duration, _ limits: ProgressLimits) -> InferenceError {
    let what =
      switch self {
      case .waiting: "no reply within \(limits.first.milliseconds) ms, waiting for a phone"
      case .asked(let phone): "no reply within \(limits.first.milliseconds) ms, waiting for the reply of \(phone)"
      case .streaming(let phone) where time < limits.total:
        "no more text within \(limits.pause.milliseconds) ms, in the middle of the reply of \(phone)"
      case .streaming(let phone): "the reply of \(phone) was not at its end after \(time.milliseconds) ms"
      }
    return InferenceError(.timedOut, what, hint: "ask for fewer tokens, or use a faster model on the phone")
  }
}
