import FoundationEssentials
internal import Streams
public import Timing

/// Sends each prompt where it can be answered: over the network to a model server, or over Bluetooth to a phone.
///
/// While there is no way out to the network, every prompt goes to the phones. A prompt that is on its way over the
/// network when that goes away goes to a phone as well, as long as nothing of its reply was passed on.
public struct RoutedInference: InferenceService {
  /// Where prompts go while there is a way out to the network.
  public enum Preference: String, Sendable, Hashable, CaseIterable {
    /// To the model server, and nowhere else.
    case network
    /// To a phone, always: no prompt leaves over the network.
    case bluetooth
    /// To the model server; to a phone when that cannot answer and a phone is ready.
    case auto
  }

  private let phones: any InferenceService
  private let engine: any Engine
  private let preference: Preference
  private let network: any NetworkAvailability
  private let time: TimeSource

  /// Makes a service of two.
  /// - Parameters:
  ///   - phones: what reaches the phones, a ``Central``.
  ///   - engine: the model server.
  ///   - preference: where prompts go while both are to be had.
  ///   - network: tells whether there is a way out.
  ///   - time: the clock.
  public init(
    phones: any InferenceService, engine: any Engine, preference: Preference, network: any NetworkAvailability,
    time: TimeSource = .continuous
  ) {
    (self.phones, self.engine, self.preference, self.network) = (phones, engine, preference, network)
    self.time = time
  }

  /// Where the next prompt goes, and why there.
  public var route: (InferenceRoute, reason: String) {
    guard preference != .bluetooth else { return (.bluetooth, "a person prefers Bluetooth") }
    guard network.isAvailable else { return (.bluetooth, "there is no way out to the network") }
    return (.network, "there is a way out to the network")
  }

  /// Sends one prompt over the route that there is; see ``InferenceService``.
  public func generate(
    prompt: String, maxTokens: Int?, onText: @Sendable @escaping (String) async -> Void
  ) async throws -> InferenceReply {
    guard route.0 == .network else {
      return try await phones.generate(prompt: prompt, maxTokens: maxTokens, onText: onText)
    }
    let hasSpoken = Lock(false)
    do {
      return try await ask(prompt, maxTokens) { piece in
        hasSpoken.withLock { $0 = true }
        await onText(piece)
      }
    } catch let error as InferenceError {
      guard await mayGoToPhones(after: error, hasSpoken: hasSpoken.withLock { $0 }) else { throw error }
      return try await phones.generate(prompt: prompt, maxTokens: maxTokens, onText: onText)
    }
  }

  /// The phones' status, with the route.
  public func status() async -> CentralStatus {
    var status = await phones.status()
    (status.route, status.routeReason) = route
    return status
  }

  private func mayGoToPhones(after error: InferenceError, hasSpoken: Bool) async -> Bool {
    guard !hasSpoken, !Task.isCancelled else { return false }
    // Without a network the phones' own error says what a person can do.
    if error.code == .networkLost { return true }
    return preference == .auto ? await phones.status().connected : false
  }

  /// Asks the model server, until the network goes away.
  private func ask(
    _ prompt: String, _ maxTokens: Int?, _ onText: @Sendable @escaping (String) async -> Void
  ) async throws -> InferenceReply {
    let started = time.now
    let stream = engine.generate(prompt: prompt, maxTokens: max(1, maxTokens ?? Wire.defaultMaxTokens))
    let output = try await withThrowingTaskGroup(of: String.self) { group in
      group.addTask {
        var output = ""
        do {
          for try await piece in stream {
            output += piece
            await onText(piece)
          }
        } catch let error as EngineError {
          throw InferenceError(.modelFailed, error.message, hint: error.hint)
        }
        try Task.checkCancellation()
        return output
      }
      group.addTask {
        await network.untilLost()
        try Task.checkCancellation()
        throw InferenceError(.networkLost, "the network went away in the middle of the reply")
      }
      defer { group.cancelAll() }
      return try await group.next() ?? ""
    }
    return InferenceReply(
      id: UUID().uuidString, output: output, ok: true, durationMs: (time.now - started).milliseconds,
      phone: engine.name)
  }
}

/// Which way a prompt goes.
public enum InferenceRoute: String, Sendable, Hashable, Codable {
  /// Over Bluetooth, to a phone.
  case bluetooth
  /// Over the network, to a model server.
  case network
}

/// Tells whether there is a way out to the network; what monitors the network belongs to another library.
public protocol NetworkAvailability: Sendable {
  /// Whether there is a way out now.
  var isAvailable: Bool { get }

  /// Returns when there is none any more, at once when there is none now; or when the task is cancelled.
  func untilLost() async
}
