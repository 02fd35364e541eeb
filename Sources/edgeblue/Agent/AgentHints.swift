import Agent
import Foundation

extension AgentError {
  /// The error with a hint for the user of this command.
  func hinted(_ hint: String?) -> AgentError {
    var error = self
    error.hint = self.hint ?? hint
    return error
  }
}

/// A service whose errors carry a hint for the user of this command.
struct HintedRunner: ComputeRunner {
  let inner: any ComputeRunner

  func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    do {
      try await inner.run(whenReady: whenReady)
    } catch let error as AgentError {
      throw error.hinted(Hints.hint(for: error))
    }
  }
}

/// A transport to a coordinator whose errors carry a hint for the user of this command.
struct HintedTransport: CoordinatorTransport {
  let inner: any CoordinatorTransport

  var address: String { inner.address }
  var taskExecutor: (any TaskExecutor)? { inner.taskExecutor }

  func post(_ path: String, headers: [(name: String, value: String)], body: Data) async throws -> CoordinatorAnswer {
    do {
      return try await inner.post(path, headers: headers, body: body)
    } catch var error as CoordinatorTransportError where error.isUntrusted {
      error.description += "; --coordinator-ca names a certificate to trust"
      throw error
    }
  }
}
