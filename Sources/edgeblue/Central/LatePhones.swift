import BlueZ
import EdgeCoder
import Timing

/// The phones of a central, whose adapter may appear after the start.
///
/// Until there is an adapter a prompt fails like one without a phone, with the reason why there is none.
actor LatePhones: InferenceService {
  /// The delay between two attempts to open the adapter, which itself waits for bluetoothd: 2 s.
  private static let delay: Duration = .seconds(2)

  private let makeCentral: @Sendable () async throws -> Central
  private var central: Central?
  private var reason = "the adapter is being opened"

  /// Creates the phones, without opening the adapter.
  /// - Parameter makeCentral: Opens the adapter and creates the central; throws `BlueZError` while there is none.
  init(makeCentral: @escaping @Sendable () async throws -> Central) { self.makeCentral = makeCentral }

  /// Opens the adapter in one attempt.
  /// - Throws: `BlueZError`, and whatever else the creation of the central throws.
  func open() async throws { _ = try await opened() }

  /// Opens the adapter, in as many attempts as it takes, and runs the central until the task is cancelled.
  /// - Parameter onAbsence: Receives each reason why there is no adapter that differs from the one before.
  /// - Throws: an error other than `BlueZError` of the creation of the central; `CancellationError`.
  func run(
    onAbsence: @Sendable (String) -> Void, _ work: @escaping @Sendable (Central) async -> Void
  ) async throws {
    while true {
      do {
        return await work(try await opened())
      } catch let error as BlueZError {
        let failure = Failure(error)
        let words = failure.message + (failure.hint.map { " (\($0))" } ?? "")
        if words != reason { onAbsence(words) }
        reason = words
      }
      try await Task.sleep(for: Self.delay, clock: .steady)
    }
  }

  private func opened() async throws -> Central {
    if let central { return central }
    let made = try await makeCentral()
    central = made
    return made
  }

  /// Returns the counters of the central, which are all 0 before there is an adapter.
  func counters() async -> CentralCounters { await central?.counters() ?? CentralCounters() }

  // MARK: InferenceService

  func generate(
    _ request: InferenceRequest, onPart: @Sendable @escaping (ReplyPart) async -> Void
  ) async throws -> InferenceReply {
    guard let central else { throw InferenceError(.noPhoneReady, "no phone can be reached: \(reason)") }
    return try await central.generate(request, onPart: onPart)
  }

  func embed(_ request: EmbeddingRequest) async throws -> Embeddings {
    guard let central else { throw InferenceError(.noPhoneReady, "no phone can be reached: \(reason)") }
    return try await central.embed(request)
  }

  func status() async -> CentralStatus {
    guard let central else {
      return CentralStatus(connected: false, scanning: false, modelState: "unknown", phones: [])
    }
    return await central.status()
  }
}
