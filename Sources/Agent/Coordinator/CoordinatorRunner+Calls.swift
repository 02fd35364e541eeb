import FoundationEssentials
import Timing

extension CoordinatorRunner {
  /// Sends a call and waits for its answer.
  func outcome(of call: CoordinatorMachine.Call, isSigned: Bool) async -> CoordinatorMachine.Outcome {
    do {
      let body = try body(of: call)
      var headers: [(name: String, value: String)] = []
      if let token = machine.session.meshToken ?? options.meshToken { headers.append(("x-mesh-token", token)) }
      if isSigned {
        headers += try signer.headers(
          path: call.path, body: body, agentID: identity.agentID, timestampMs: options.wallClock(), nonce: Self.nonce())
      }
      let (transport, path, all) = (transport, call.path, headers)
      let late = CoordinatorTransportError(
        "\(transport.address) has not answered within \(Self.answerLimit)", mayHaveArrived: true)
      return .answer(
        try await options.time.withLimit(Self.answerLimit, orThrow: late) {
          try await transport.post(path, headers: all, body: body)
        })
    } catch let error as CoordinatorTransportError {
      return .none(error)
    } catch is CancellationError {
      return .none(CoordinatorTransportError("it was cancelled", mayHaveArrived: true))
    } catch {
      return .none(CoordinatorTransportError("\(error)", mayHaveArrived: false))
    }
  }

  private func body(of call: CoordinatorMachine.Call) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let telemetry = options.power().map { CoordinatorTelemetry($0, options.machine()) }
    switch call {
    case .register:
      return try encoder.encode(
        RegisterRequest(
          agentId: identity.agentID, version: options.version, registrationToken: options.registrationToken,
          localModelProvider: options.localModelProvider, powerTelemetry: telemetry, publicKeyPem: signer.publicKeyPEM))
    case .heartbeat:
      return try encoder.encode(
        HeartbeatRequest(
          agentId: identity.agentID, powerTelemetry: telemetry, activeModel: machine.model?.name,
          activeModelParamSize: machine.model?.billionsOfParameters,
          modelSwapInProgress: machine.model?.isLoading))
    case .pull: return try encoder.encode(PullRequest(agentId: identity.agentID))
    case .result(let number):
      guard let entry = machine.posting, entry.number == number else {
        throw AgentError(.invalidArgument, "there is no result \(number)")
      }
      return try encoder.encode(entry.result)
    }
  }

  /// Works on a task, for as long as it may take.
  func attempt(_ task: CoordinatorTask) async -> CoordinatorMachine.Work {
    do {
      let answer = options.answer
      let late = AgentError(.timedOut, "there was no answer within \(task.timeLimit)")
      return .answered(try await options.time.withLimit(task.timeLimit, orThrow: late) { try await answer(task) })
    } catch is CancellationError {
      return .failed("this machine has stopped working")
    } catch {
      return .failed("\(error)")
    }
  }

  /// 16 random bytes: never twice.
  private static func nonce() -> String {
    MachineIdentity.hex((0..<16).map { _ in .random(in: 0...255) })
  }
}
