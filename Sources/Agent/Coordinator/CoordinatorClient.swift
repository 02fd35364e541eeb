internal import ErrorReporting
import FoundationEssentials

/// The sender of requests to one coordinator: encodes them, adds the token and the signature, and limits the time.
struct CoordinatorClient: Sendable {
  let transport: any CoordinatorTransport
  let signer: any RequestSigner
  let identity: MachineIdentity
  let options: CoordinatorRunner.Options

  /// Sends a request and waits for its response, at most ``CoordinatorRunner/answerLimit``.
  /// - Parameters:
  ///   - call: The request.
  ///   - machine: The state of the service, which the request's body reports.
  ///   - isSigned: Whether the request is signed.
  func outcome(
    of call: CoordinatorMachine.Call, for machine: CoordinatorMachine, isSigned: Bool,
    isolation: isolated (any Actor)? = #isolation
  ) async -> CoordinatorMachine.Outcome {
    do {
      let body = try body(of: call, for: machine)
      var headers: [(name: String, value: String)] = []
      if let token = machine.enrolment.meshToken ?? options.meshToken { headers.append(("x-mesh-token", token)) }
      if case .result = call { headers.append(("Idempotency-Key", "\"\(Self.fingerprint(of: body))\"")) }
      if isSigned {
        headers += try signer.headers(
          path: call.path, body: body, agentID: identity.agentID, timestampMs: options.wallClock(), nonce: Self.nonce())
      }
      let transport = transport
      let path = call.path
      let all = headers
      let late = CoordinatorTransportError(
        "\(transport.address) did not answer within \(CoordinatorRunner.answerLimit)", mayHaveArrived: true)
      let answer = try await options.time.withLimit(CoordinatorRunner.answerLimit, orThrow: late) {
        try await transport.post(path, headers: all, body: body)
      }
      return .answer(withoutSecrets(answer, to: call, for: machine))
    } catch let error as CoordinatorTransportError {
      return .none(error)
    } catch is CancellationError {
      return .none(CoordinatorTransportError("the request was cancelled", mayHaveArrived: true))
    } catch {
      return .none(CoordinatorTransportError(error.safeText, mayHaveArrived: false))
    }
  }

  /// Returns a response without the tokens of the request, which the coordinator may quote.
  private func withoutSecrets(
    _ answer: CoordinatorAnswer, to call: CoordinatorMachine.Call, for machine: CoordinatorMachine
  ) -> CoordinatorAnswer {
    // An accepted registration is answered with a token, which may be the old one.
    if case .register = call, (200..<300).contains(answer.status) { return answer }
    let secrets = KnownSecrets([options.registrationToken, options.meshToken, machine.enrolment.meshToken])
    var answer = answer
    answer.body = Data(secrets.removed(from: [UInt8](answer.body)))
    return answer
  }

  private func body(of call: CoordinatorMachine.Call, for machine: CoordinatorMachine) throws -> Data {
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
      let model = machine.work.model
      return try encoder.encode(
        HeartbeatRequest(
          agentId: identity.agentID, powerTelemetry: telemetry, activeModel: model?.name,
          activeModelParamSize: model?.billionsOfParameters, modelSwapInProgress: model?.isLoading))
    case .pull: return try encoder.encode(PullRequest(agentId: identity.agentID))
    case .result(let number):
      guard let entry = machine.outbox.sending, entry.number == number else {
        throw AgentError(.invalidArgument, "result \(number) is not under way")
      }
      return try encoder.encode(entry.result)
    }
  }

  /// Works on a task, for its time limit at most.
  func work(
    on task: CoordinatorTask, isolation: isolated (any Actor)? = #isolation
  ) async -> CoordinatorMachine.Work {
    do {
      let answer = options.answer
      let late = AgentError(.timedOut, "there was no answer within \(task.timeLimit)")
      return .answered(try await options.time.withLimit(task.timeLimit, orThrow: late) { try await answer(task) })
    } catch is CancellationError {
      return .cancelled("this machine has stopped working")
    } catch {
      return .failed(error.safeText)
    }
  }

  /// Returns the 128-bit FNV-1a hash of a body, in hexadecimal digits: every attempt to send a result has the same body,
  /// and so the same key.
  static func fingerprint(of body: Data) -> String {
    let prime = UInt128(1) << 88 | 0x13b
    let start = UInt128(0x6c62_272e_07bb_0142) << 64 | 0x62b8_2175_6295_c58d
    let text = String(body.reduce(start) { ($0 ^ UInt128($1)) &* prime }, radix: 16)
    return String(repeating: "0", count: 32 - text.count) + text
  }

  /// Returns 16 random bytes in hexadecimal digits, which are never used twice.
  private static func nonce() -> String {
    MachineIdentity.hex((0..<16).map { _ in .random(in: 0...255) })
  }
}
