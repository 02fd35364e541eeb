import Agent
import Crypto
import Foundation
import Glibc
import Streams
import SystemTesting
import Testing

@testable import AgentHTTP

@Suite("The HTTP transport to a coordinator", .timeLimit(.minutes(5)))
struct TransportTests {
  @Test(
    "An invalid address of a coordinator is rejected",
    arguments: [
      "", "coordinator.example", "ftp://coordinator.example", "http://", "http://me:secret@coordinator.example",
      "http://coordinator.example/?a=b", "http://coordinator.example/#x", "http://coordinator.example:99999",
      "http://coordinator.example:99999999999999999999",
    ])
  func whatIsNoAddress(url: String) {
    let error = #expect(throws: AgentError.self) { try HTTPTransport(url: url) }
    #expect(error?.code == .invalidArgument)
    #expect(error?.description.contains("secret") == false)
  }

  @Test("A response is returned with its status and body unchanged") func anAnswerIsPassedOnAsItIs() async throws {
    try await TestCoordinator.run { coordinator in
      let transport = try HTTPTransport(url: coordinator.address + "/")
      #expect(transport.address == coordinator.address)
      coordinator.misbehave("/heartbeat", .answers(302, "elsewhere"))
      let answer = try await transport.post("/heartbeat", headers: [("x-mesh-token", "t")], body: Data("{}".utf8))
      #expect(answer == CoordinatorAnswer(status: 302, body: Data("elsewhere".utf8)))
    }
  }

  @Test("Requests name the program, and the version where the program has one") func requestsNameTheProgram()
    async throws
  {
    try await TestCoordinator.run { coordinator in
      for transport in [
        try HTTPTransport(url: coordinator.address),
        try HTTPTransport(url: coordinator.address, userAgent: "EdgeBlue/1.2.3"),
      ] { _ = try await transport.post("/heartbeat", headers: [], body: Data("{}".utf8)) }
      #expect(coordinator.registry.seen.map(\.userAgent) == ["EdgeBlue", "EdgeBlue/1.2.3"])
    }
  }

  @Test("A transport error states whether the request may have arrived") func whatGoesWrongSaysWhetherItMayHaveArrived()
    async throws
  {
    try await TestCoordinator.run { coordinator in
      let transport = try HTTPTransport(url: coordinator.address)
      for (misdeed, part) in [
        (TestCoordinator.Misdeed.breaksOff, "broken off"),
        (.answers(200, String(repeating: "x", count: HTTPTransport.answerLimit + 1)), "more than"),
      ] {
        coordinator.misbehave("/heartbeat", misdeed)
        let error = await #expect(throws: CoordinatorTransportError.self) {
          _ = try await transport.post("/heartbeat", headers: [], body: Data("{}".utf8))
        }
        #expect(error?.mayHaveArrived == true, "\(error as Any)")
        #expect(error?.description.contains(part) == true, "\(error as Any)")
      }
    }
    let address = "http://127.0.0.1:\(try LoopbackPort.free())"
    let error = await #expect(throws: CoordinatorTransportError.self) {
      _ = try await HTTPTransport(url: address).post("/heartbeat", headers: [], body: Data())
    }
    #expect(error?.mayHaveArrived == false, "\(error as Any)")
    #expect(error?.description.contains("nothing answers") == true, "\(error as Any)")
  }

  @Test("A task on the transport's executor sends and receives on one thread") func oneThread() async throws {
    try await TestCoordinator.run { coordinator in
      let transport = try HTTPTransport(url: coordinator.address)
      let threads = Task(executorPreference: transport.taskExecutor) {
        var threads = [pthread_self()]
        for _ in 0..<20 {
          _ = try await transport.post("/heartbeat", headers: [], body: Data("{}".utf8))
          threads.append(pthread_self())
        }
        return Set(threads)
      }
      #expect(try await threads.value.count == 1)
    }
  }

  @Test("A cancelled request ends, whatever the coordinator does") func cancellation() async throws {
    try await TestCoordinator.run { coordinator in
      let transport = try HTTPTransport(url: coordinator.address)
      let (opened, gate) = BoundedStream.make(of: Void.self, limit: 1)
      defer { gate.yield(()) }
      coordinator.misbehave("/heartbeat", .stalls { for await _ in opened { return } })
      let request = Task { try await transport.post("/heartbeat", headers: [], body: Data("{}".utf8)) }
      await coordinator.registry.until { $0.count == 1 }
      request.cancel()
      await #expect(throws: CancellationError.self) { try await request.value }
      let early = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await transport.post("/heartbeat", headers: [], body: Data())
      }
      await #expect(throws: CancellationError.self) { try await early.value }
      #expect(coordinator.registry.seen.count == 1)
    }
  }

  /// Through a real TLS server, which has certificates of its own.
  @Test(
    "Requests over TLS reach only a trusted coordinator",
    .enabled(if: ChildProcess.path(of: "caddy") != nil, "needs caddy"))
  func overTLS() async throws {
    let folder = try Folder()
    try await TestCoordinator.run { coordinator in
      let front = try Caddy(before: coordinator.address, folder: folder.path)
      try await front.waitUntilUp()
      let stranger = await #expect(throws: CoordinatorTransportError.self) {
        _ = try await HTTPTransport(url: front.address).post("/heartbeat", headers: [], body: Data("{}".utf8))
      }
      #expect(stranger?.mayHaveArrived == false)
      #expect(stranger?.description.contains("cannot be trusted") == true)
      let swarm = try Folder()
      let state = try StateFolder(path: swarm.path)
      defer { withExtendedLifetime(swarm) {} }
      try await CoordinatorTests.takingPart(at: front.address, state, certificates: front.certificate) { _ in
        await coordinator.registry.until { seen in seen.contains { $0.path == "/heartbeat" && $0.status == 200 } }
      }
      #expect(coordinator.registry.faults == [])
      #expect(coordinator.registry.seen.last?.isSigned == true)
    }
  }
}

@Suite("Signatures of requests to a coordinator") struct SignerTests {
  /// The first test vector of RFC 8032: its seed makes its public key.
  @Test("The public key belongs to the seed") func theKeyIsTheOneOfItsSeed() throws {
    let identity = try identity(seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    let pem = try Ed25519Signer(identity).publicKeyPEM.split(separator: "\n")
    #expect(pem.first == "-----BEGIN PUBLIC KEY-----")
    #expect(pem.last == "-----END PUBLIC KEY-----")
    let der = try #require(Data(base64Encoded: pem[1..<(pem.count - 1)].joined()))
    #expect(
      der.map { String(format: "%02x", $0) }.joined()
        == "302a300506032b6570032100d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
  }

  @Test("The signature covers time, nonce, method, path and body") func whatIsSignedIsTimeNonceMethodPathAndBody()
    throws
  {
    let identity = try identity(seed: String(repeating: "07", count: 32))
    let body = Data("{}".utf8)
    let headers = Dictionary(
      uniqueKeysWithValues: try Ed25519Signer(identity).headers(
        path: "/pull", body: body, agentID: "a", timestampMs: 12, nonce: "n"
      ).map { ($0.name, $0.value) })
    let hash = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    #expect(headers["x-body-sha256"] == hash)
    #expect(headers["x-agent-id"] == "a")
    #expect(headers["x-timestamp-ms"] == "12")
    let key = try Curve25519.Signing.PrivateKey(rawRepresentation: identity.signingSeed).publicKey
    let signature = try #require(headers["x-signature"].flatMap { Data(base64Encoded: $0) })
    #expect(key.isValidSignature(signature, for: Data("12\nn\nPOST\n/pull\n\(hash)".utf8)))
  }

  private func identity(seed: String) throws -> MachineIdentity {
    let bytes = stride(from: 0, to: seed.count, by: 2).map { index -> UInt8 in
      let start = seed.index(seed.startIndex, offsetBy: index)
      return UInt8(seed[start..<seed.index(start, offsetBy: 2)], radix: 16) ?? 0
    }
    let folder = try Folder()
    var identity = try MachineIdentity.load(path: folder.path + "/identity.json", hostName: "h")
    identity.signingSeed = Data(bytes)
    return identity
  }
}
