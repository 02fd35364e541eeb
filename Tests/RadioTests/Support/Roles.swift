import BlueZ
import EdgeCoder
import Testing

/// Answers "N" with N bytes of text that has characters of one to four bytes at ever new offsets; anything else with
/// itself.
struct SizedEngine: Engine {
  let name = "sized"
  var delay = Duration.zero

  func modelState() async -> ModelState { .ready }

  static func text(_ bytes: Int) -> String {
    let unit = "a€z😀é"
    var text = ""
    while text.utf8.count + 12 <= bytes { text += unit }
    while text.utf8.count < bytes { text += "." }
    return text
  }

  func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
    let output = Int(request.prompt).map(Self.text) ?? request.prompt
    let delay = delay
    return AsyncThrowingStream { continuation in
      let task = Task {
        do {
          if delay > .zero { try await ContinuousClock().sleep(for: delay) }
          continuation.yield(.text(output))
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}

/// Runs a central on an adapter while the body runs.
func withCentral<R: Sendable>(
  on name: String, access: AccessPolicy = .open, _ body: @escaping @Sendable (Central) async throws -> R
) async throws -> R {
  try await withCentral(at: try await Radio.adapter(name), access: access, body)
}

/// Runs a central at an adapter, in the adapter's session, while the body runs.
func withCentral<R: Sendable>(
  at adapter: Adapter, access: AccessPolicy = .open, _ body: @escaping @Sendable (Central) async throws -> R
) async throws -> R {
  let radio = BlueZPhoneRadio(adapter: adapter, access: access)
  var configuration = CentralConfiguration()
  // A reconnection after a fault must not make a test wait for half a minute.
  configuration.reconnection.backoff.limit = .seconds(2)
  let central = Central(scanner: radio, connector: radio, configuration: configuration)
  return try await withThrowingTaskGroup(of: R?.self) { group in
    group.addTask {
      await central.run()
      return nil
    }
    group.addTask { try await body(central) }
    defer { group.cancelAll() }
    while let result = try await group.next() {
      if let result { return result }
    }
    throw TestTimeout(phase: "the central ended")
  }
}

/// Runs a phone on an adapter while the body runs.
func withPhone<R: Sendable>(
  on name: String, engine: any Engine = SizedEngine(), access: AccessPolicy = .open, links: Set<MuxBearer> = [],
  limits: (inout PhoneConfiguration) -> Void = { _ in }, _ body: @escaping @Sendable (PhoneService) async throws -> R
) async throws -> R {
  let transport = try await BlueZPhoneTransport.start(
    on: try await Radio.adapter(name), name: "EdgeCoder-radio-test", access: access, muxBearers: links)
  var configuration = PhoneConfiguration()
  limits(&configuration)
  let phone = PhoneService(transport: transport, engine: engine, configuration: configuration)
  do {
    let result = try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask {
        await phone.run()
        return nil
      }
      group.addTask { try await body(phone) }
      defer { group.cancelAll() }
      while let result = try await group.next() {
        if let result { return result }
      }
      throw TestTimeout(phase: "the phone ended")
    }
    try await transport.stop()
    return result
  } catch {
    // The test's own error is the one to see; a transport that cannot be stopped goes with its session.
    do { try await transport.stop() } catch let second { print("not stopped: \(second)") }
    throw error
  }
}

extension Central {
  /// Waits until so many phones are ready.
  func waitForPhones(_ count: Int = 1, within limit: Duration = .seconds(60)) async throws {
    let events = events()
    try await bounded(limit, "\(count) ready phones") {
      if await self.readyPhones >= count { return }
      for await _ in events where await self.readyPhones >= count { return }
    }
  }

  private var readyPhones: Int {
    get async { await status().phones.filter { $0.state == "ready" }.count }
  }

  /// Asks, and asks again while the phone is on its way back.
  func askUntilAnswered(_ prompt: String, within limit: Duration) async throws -> InferenceReply {
    try await bounded(limit, "a reply after the fault") {
      while true {
        do {
          return try await self.generate(prompt: prompt, maxTokens: nil)
        } catch let error as InferenceError {
          print("not yet: \(error)")
          try await self.waitForPhones(within: limit)
        }
      }
    }
  }
}
