import Streams
import Timing

extension Central {
  /// Sends one prompt to the best phone that is ready and returns its reply; see ``InferenceService``.
  public func generate(
    _ asked: InferenceRequest, onPart: @Sendable @escaping (ReplyPart) async -> Void
  ) async throws -> InferenceReply {
    var request = Wire.Request(id: context.requestID(), prompt: asked.prompt, maxTokens: asked.maxTokens)
    request.details = asked.details
    context.count { $0.requests += 1 }
    do {
      let form = asked.details.fields.isEmpty ? 0 : RequestForm.encoded(asked).count
      let length = max(request.encodedLength, form)
      guard length <= configuration.messageLimit else {
        throw InferenceError(
          .requestTooLarge, "the request has \(length) bytes; allowed: \(configuration.messageLimit)")
      }
      let started = context.time.now
      let (received, phone) = try await exchange(request, onPart)
      context.count { $0.replies += 1 }
      return InferenceReply(
        id: request.id, answer: received.answer,
        durationMs: Int((context.time.now - started).milliseconds(rounded: .towardZero)), phone: phone,
        completion: received.completion)
    } catch {
      context.count { if error is CancellationError { $0.cancelled += 1 } else { $0.failures += 1 } }
      throw error
    }
  }

  private func exchange(
    _ request: Wire.Request, _ onPart: @Sendable @escaping (ReplyPart) async -> Void
  ) async throws -> (ReceivedReply, phone: String) {
    let timeouts = configuration.requests
    let limits = ProgressLimits(first: timeouts.timeout, pause: timeouts.timeout, total: timeouts.streamTimeout)
    let phase = Lock(RequestPhase.waiting)
    let started = context.time.now
    return try await context.time.withLimits(
      limits,
      orThrow: { phase.withLock { $0.timedOut(after: self.context.time.now - started, limits) } }
    ) { step in
      try await self.deliver(request) { phone in
        phase.withLock { $0 = .sent(phone) }
      } onPart: { part, phone in
        if case .waiting = part {} else { phase.withLock { $0 = .streaming(phone) } }
        step()
        await onPart(part)
        // A slow consumer delays the phone, so the end of its delay counts as progress, too.
        step()
      }
    }
  }

  // MARK: Routing

  private var candidates: [Router.Candidate] {
    reports.values.map { report in
      var candidate = Router.Candidate(
        id: report.id, isReady: report.state == .ready && phones[report.id] != nil,
        modelState: report.readings.status?.modelState,
        load: .init(pending: held[report.id] ?? 0, abandoned: report.abandoned),
        batteryPct: report.readings.status?.batteryPct, rssi: report.readings.rssi)
      candidate.slots = report.muxBearer == nil ? configuration.requests.perPhone : configuration.requests.perMux
      return candidate
    }
  }

  /// Reserves a slot at the best phone, at once or when one becomes free; ``release(_:)`` returns it.
  func acquire(for details: RequestDetails) async throws -> ReconnectingPhone {
    try Task.checkCancellation()
    if waiting.isEmpty, let phone = try reserve(for: details) { return phone }
    guard waiting.count < configuration.requests.waitingLimit else {
      throw InferenceError(
        .busy, "\(waiting.count) requests are waiting for a phone", hint: "try again later, or add a phone")
    }
    let ticket = waiting.makeTicket()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiting.add(ticket, details, $0) }
    } onCancel: {
      Task { await self.cancel(ticket) }
    }
  }

  private func cancel(_ ticket: Int) { waiting.cancel(ticket) }

  func release(_ id: PhoneID) {
    let left = (held[id] ?? 1) - 1
    held[id] = left > 0 ? left : nil
    dispatch()
  }

  /// The phones that can answer a request: all, or those whose connection carries what the request must have.
  private func candidates(for details: RequestDetails) -> [Router.Candidate] {
    guard Set<RequestField>().refusal(of: details) != nil else { return candidates }
    return candidates.filter { reports[$0.id]?.takesDetails == true }
  }

  /// Reserves a slot at the best phone; `nil` when all slots are used.
  private func reserve(for details: RequestDetails) throws -> ReconnectingPhone? {
    switch Router.choose(from: candidates(for: details)) {
    case .phone(let id):
      guard let phone = phones[id] else { return nil }
      held[id, default: 0] += 1
      return phone
    case .wait: return nil
    case .none: throw unsupported(details) ?? noPhoneReady()
    }
  }

  /// Returns the error of a request that no phone can answer although one is ready; `nil` when none is.
  private func unsupported(_ details: RequestDetails) -> InferenceError? {
    guard let refusal = Set<RequestField>().refusal(of: details),
      let best = Router.order(candidates).first(where: \.isReady)
    else { return nil }
    return InferenceError(
      .unsupported, "\(phones[best.id]?.name ?? best.id.rawValue) \(refusal): its connection carries prompts alone",
      hint: "update the phone, and offer the v2 mux there")
  }

  /// Reserves a slot at the best phone but some; `nil` when none is ready and free, or other requests wait.
  func reserve(for details: RequestDetails, excluding tried: Set<PhoneID>) -> ReconnectingPhone? {
    let others = candidates(for: details).filter { !tried.contains($0.id) }
    guard waiting.isEmpty, case .phone(let id) = Router.choose(from: others),
      let phone = phones[id]
    else { return nil }
    held[id, default: 0] += 1
    return phone
  }

  /// Gives free slots to the waiting requests.
  func dispatch() {
    while let details = waiting.first {
      do {
        guard let phone = try reserve(for: details) else { return }
        waiting.resumeFirst(with: phone)
      } catch let error as InferenceError where error.code == .unsupported {
        waiting.failFirst(error)
      } catch {
        // No phone is ready any more; a lost one may never return.
        waiting.failAll(error)
      }
    }
  }

  private func noPhoneReady() -> InferenceError {
    let known = reports.values.sorted { $0.id < $1.id }.map { report in
      "\(phones[report.id]?.name ?? report.id.rawValue) is \(report.state)"
        + (report.failure.map { " (\($0.message))" } ?? "")
    }
    guard known.isEmpty else { return InferenceError(.noPhoneReady, known.joined(separator: ", ")) }
    if let stranger = list.refused.min(by: { $0.id < $1.id }), let refusal = stranger.refusal {
      return InferenceError(
        .noPhoneReady, "no phone is in use: \(refusal.message)", hint: "pair with the phone, or choose open access")
    }
    if case .stopped(let reason) = scan { return InferenceError(.noPhoneReady, "the scan has stopped: \(reason)") }
    return InferenceError(.noPhoneReady, "no phone was found", hint: "start a phone in range")
  }

  // MARK: Status

  /// Returns the status of the central: the best phone, and every known phone.
  ///
  /// A request that follows is routed by the states that the status contains, or by newer ones.
  public func status() async -> CentralStatus {
    var current: [PhoneID: PhoneConnectionReport] = [:]
    for phone in phones.values { current[phone.id] = await phone.current }
    let order = Router.order(candidates).map(\.id)
    var known = order.compactMap { id in reports[id].map { status(of: $0, current: current[id]) } }
    for found in list.results.values.sorted(by: { $0.id < $1.id }) where reports[found.id] == nil {
      var discovered = PhoneStatus(
        id: found.id.rawValue, name: found.name, state: PhoneConnectionState.discovered.rawValue)
      discovered.rssi = found.rssi
      known.append(discovered)
    }
    let isConnected = candidates.contains(where: \.isReady)
    if let best = known.first, isConnected || lastBest == nil { lastBest = best }
    let best = lastBest
    var isScanning = false
    if case .running = scan { isScanning = true }
    var summary = CentralStatus(
      connected: isConnected, scanning: isScanning, modelState: best?.modelState ?? "unknown", phones: known)
    summary.lastSeenMs = known.compactMap(\.lastSeenMs).max() ?? best?.lastSeenMs
    summary.deviceName = best?.name
    summary.deviceId = best?.id
    summary.batteryPct = best?.batteryPct
    summary.rssi = best?.rssi
    summary.route = .bluetooth
    return summary
  }

  /// Returns the status of a phone by its last report, which requests are routed by; what no report is sent for is the
  /// phone's current value.
  private func status(of report: PhoneConnectionReport, current: PhoneConnectionReport?) -> PhoneStatus {
    let readings = report.readings
    var status = PhoneStatus(
      id: report.id.rawValue, name: phones[report.id]?.name ?? report.id.rawValue, state: report.state.rawValue,
      modelState: readings.status?.modelState ?? "unknown", linkBearer: (current ?? report).muxBearer)
    status.batteryPct = readings.status?.batteryPct
    status.rssi = readings.rssi
    status.pending = (held[report.id] ?? 0) + report.abandoned
    status.lastSeenMs = (current ?? report).readings.lastSeenMs
    status.linkTakesDetails = (current ?? report).muxBearer == nil ? nil : (current ?? report).takesDetails
    return status
  }
}

/// The progress of a request, for the message of a timeout.
private enum RequestPhase: Sendable {
  case waiting
  case sent(String)
  case streaming(String)

  func timedOut(after time: Duration, _ limits: ProgressLimits) -> InferenceError {
    func ms(_ duration: Duration) -> String { "\(duration.milliseconds(rounded: .towardZero)) ms" }
    let message =
      switch self {
      case .waiting: "no reply within \(ms(limits.first)): waiting for a phone"
      case .sent(let phone): "no reply within \(ms(limits.first)): waiting for the reply of \(phone)"
      case .streaming(let phone) where time < limits.total:
        "no more text within \(ms(limits.pause)) in the middle of the reply of \(phone)"
      case .streaming(let phone): "the reply of \(phone) was incomplete after \(ms(time))"
      }
    return InferenceError(.timedOut, message, hint: "ask for fewer tokens, or use a faster model on the phone")
  }
}
