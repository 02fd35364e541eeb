import FoundationEssentials
internal import Streams
public import Timing

/// A service that sends each prompt over the network to a model server, or over Bluetooth to a phone.
///
/// Without a default route every prompt goes to the phones. A prompt whose model server is lost with the network goes to
/// a phone as well, unless a part of its reply was already delivered.
///
/// ```swift
/// struct AlwaysOnline: NetworkAvailability {
///   var isAvailable: Bool { true }
///   func waitUntilLost() async { while !Task.isCancelled { await Task.yield() } }
/// }
/// func route(_ central: Central, _ engine: any Engine) -> RoutedInference {
///   RoutedInference(phones: central, engine: engine, preference: .auto, network: AlwaysOnline())
/// }
/// ```
public struct RoutedInference: InferenceService {
  /// The destination of prompts while the host has a default route.
  public enum Preference: String, Sendable, Hashable, CaseIterable {
    /// The model server, and no phone.
    case network
    /// A phone, always: no prompt leaves over the network.
    case bluetooth
    /// The model server, or a phone if the server fails and a phone is ready.
    case auto
  }

  private let phones: any InferenceService
  private let engine: any Engine
  private let preference: Preference
  private let network: any NetworkAvailability
  private let time: TimeSource
  private let served = Lock(ModelServerCounters())

  /// Creates a service from the phones and a model server.
  /// - Parameters:
  ///   - phones: The service that sends prompts to phones, for example a ``Central``.
  ///   - engine: The model server.
  ///   - preference: The destination of prompts while both are available.
  ///   - network: The monitor of the default route.
  ///   - time: The monotonic clock.
  public init(
    phones: any InferenceService, engine: any Engine, preference: Preference, network: any NetworkAvailability,
    time: TimeSource = .continuous
  ) {
    self.phones = phones
    self.engine = engine
    self.preference = preference
    self.network = network
    self.time = time
  }

  /// The destination of the next prompt, with the reason for display.
  public var route: (InferenceRoute, reason: String) {
    guard preference != .bluetooth else { return (.bluetooth, "Bluetooth is preferred") }
    guard network.isAvailable else { return (.bluetooth, "the host has no default route") }
    return (.network, "the host has a default route")
  }

  /// Sends one prompt over the present route; see ``InferenceService``.
  public func generate(
    _ request: InferenceRequest, onPart: @Sendable @escaping (ReplyPart) async -> Void
  ) async throws -> InferenceReply {
    guard route.0 == .network else { return try await phones.generate(request, onPart: onPart) }
    let hasText = Lock(false)
    do {
      return try await counted {
        try await generateWithEngine(request) { part in
          hasText.withLock { $0 = true }
          await onPart(part)
        }
      }
    } catch let error as InferenceError {
      guard await mayUsePhones(after: error, hasText: hasText.withLock { $0 }) else { throw error }
      return try await phones.generate(request, onPart: onPart)
    }
  }

  /// Returns the embeddings of the model server; see ``InferenceService``.
  public func embed(_ request: EmbeddingRequest) async throws -> Embeddings {
    guard route.0 == .network else { return try await phones.embed(request) }
    return try await untilLost {
      do {
        return try await engine.embed(request)
      } catch let error as EngineError {
        throw InferenceError(Self.code(of: error), error.message, hint: error.hint)
      }
    }
  }

  /// Returns the status of the phones, with the route.
  public func status() async -> CentralStatus {
    var status = await phones.status()
    let (route, reason) = route
    status.route = route
    status.routeReason = reason
    return status
  }

  /// Returns the counters of the model server's prompts since the creation of this service; a prompt that goes to a phone
  /// after the server has failed is one of its failures.
  public func counters() -> ModelServerCounters { served.withLock { $0 } }

  private func counted(_ prompt: () async throws -> InferenceReply) async throws -> InferenceReply {
    served.withLock { $0.requests += 1 }
    do {
      let reply = try await prompt()
      served.withLock { $0.replies += 1 }
      return reply
    } catch {
      served.withLock { if error is CancellationError { $0.cancelled += 1 } else { $0.failures += 1 } }
      throw error
    }
  }

  private func mayUsePhones(after error: InferenceError, hasText: Bool) async -> Bool {
    guard !hasText, !Task.isCancelled, ![.contextExceeded, .unsupported].contains(error.code) else { return false }
    // Without a network the error of the phones describes the remedy.
    if error.code == .networkLost { return true }
    return preference == .auto ? await phones.status().connected : false
  }

  private static func code(of error: EngineError) -> InferenceError.Code {
    switch error.code {
    case .busy: .busy
    case .noModel: .noModel
    case .contextExceeded: .contextExceeded
    case .unsupported: .unsupported
    default: .modelFailed
    }
  }

  /// Sends a prompt to the model server, until the network is lost.
  private func generateWithEngine(
    _ request: InferenceRequest, _ onPart: @Sendable @escaping (ReplyPart) async -> Void
  ) async throws -> InferenceReply {
    let started = time.now
    let ignored: [RequestField]
    do throws(EngineError) {
      ignored = try engine.ignored(of: request)
    } catch {
      throw InferenceError(Self.code(of: error), error.message, hint: error.hint)
    }
    let stream = engine.generate(request)
    let (text, completion) = try await untilLost {
      var text = ""
      var completion = Completion(.stop)
      var reply = PartSequence(ignored: ignored)
      do {
        reading: for try await output in stream {
          if case .end(let end) = output {
            completion = end
            break reading
          }
          if case .text(let piece) = output { text += piece }
          for part in reply.parts(of: output) { await onPart(part) }
        }
      } catch let error as EngineError {
        throw InferenceError(Self.code(of: error), error.message, hint: error.hint)
      }
      try Task.checkCancellation()
      return (text, completion)
    }
    return InferenceReply(
      id: UUID().uuidString, answer: .text(text),
      durationMs: Int((time.now - started).milliseconds(rounded: .towardZero)), phone: engine.name,
      completion: completion)
  }

  /// Runs work with the model server until the network is lost.
  private func untilLost<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
      group.addTask(operation: work)
      group.addTask {
        await network.waitUntilLost()
        try Task.checkCancellation()
        throw InferenceError(.networkLost, "the network was lost in the middle of the reply")
      }
      defer { group.cancelAll() }
      guard let value = try await group.next() else { throw CancellationError() }
      return value
    }
  }
}

/// The counters of the prompts that a ``RoutedInference`` sends to its model server.
public struct ModelServerCounters: Sendable, Hashable, Codable {
  /// The number of prompts that were sent to it.
  public var requests = 0
  /// The number of prompts that were answered.
  public var replies = 0
  /// The number of prompts that failed for any reason but cancellation.
  public var failures = 0
  /// The number of prompts that their caller cancelled.
  public var cancelled = 0

  /// Creates counters that are all zero.
  public init() {}
}

/// The destination of a prompt: a phone or a model server.
public enum InferenceRoute: String, Sendable, Hashable, Codable {
  /// A phone in range, over Bluetooth.
  case bluetooth
  /// A model server, over the network.
  case network
}

/// A monitor of the default route of the host, which another library implements.
public protocol NetworkAvailability: Sendable {
  /// A Boolean value that indicates whether the host currently has a default route.
  var isAvailable: Bool { get }

  /// Waits until the host has no default route, or until the task is cancelled.
  func waitUntilLost() async
}
