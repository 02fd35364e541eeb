import EdgeCoder
import EdgeCoderHTTP
import HummingbirdTesting
import Testing

/// The client against the real API, and against what is none.
@Suite(.timeLimit(.minutes(1))) struct CentralClientTests {
  private func withClient<Value: Sendable>(
    _ service: FakeService, _ test: @Sendable (CentralClient) async throws -> Value
  ) async throws -> Value {
    try await withAPI(service, .live) {
      try await test(CentralClient(url: "http://127.0.0.1:\(try #require($0.port))/", statusTime: .seconds(20)))
    }
  }

  @Test func theReplyComesBackWhole() async throws {
    let service = FakeService(output: "Grüß dich 🐟")
    let reply = try await withClient(service) { try await $0.generate(prompt: "hallo", maxTokens: 7) }
    #expect(reply == InferenceReply(id: "ID-1", output: "Grüß dich 🐟", ok: true, durationMs: 42, phone: "Pixel"))
    #expect(service.calls == [.init(prompt: "hallo", maxTokens: 7)])
  }

  @Test func aPhonesFailureStaysOne() async throws {
    let reply = try await withClient(FakeService(output: "[no model loaded]", ok: false)) {
      try await $0.generate(prompt: "hallo", maxTokens: nil)
    }
    #expect(!reply.ok)
    #expect(reply.output == "[no model loaded]")
  }

  @Test func theStatusComesBackWhole() async throws {
    let status = CentralStatus(
      connected: true, scanning: true, modelState: "ready", lastSeenMs: 1, deviceName: "Pixel", rssi: -40,
      phones: [PhoneStatus(id: "1", name: "Pixel", state: "ready")])
    let service = FakeService(status: status) { _ in throw CancellationError() }
    #expect(try await withClient(service) { try await $0.fetchStatus() } == status)
  }

  @Test func theCentralsErrorsKeepTheirCode() async throws {
    for code in [
      InferenceError.Code.noPhoneReady, .disconnected, .writeFailed, .busy, .timedOut, .requestTooLarge,
    ] {
      let error = try await withClient(FakeService(failing: InferenceError(code, "because"))) { client in
        await #expect(throws: InferenceError.self) { try await client.generate(prompt: "hallo", maxTokens: nil) }
      }
      #expect(error?.code == code)
      #expect(error?.message == "because")
    }
  }

  @Test func cancellingReachesTheService() async throws {
    let started = Signal()
    let cancelled = Signal()
    let service = FakeService { _ in
      started.fire()
      do { try await untilCancelled() } catch { cancelled.fire() }
      throw CancellationError()
    }
    try await withClient(service) { client in
      let asking = Task { try await client.generate(prompt: "hallo", maxTokens: nil) }
      await started.wait()
      asking.cancel()
      await cancelled.wait()
    }
  }

  @Test(arguments: ["<html>", "{}", "[]", #"{"models":[]}"#]) func somethingElseIsNoCentral(body: String) async throws {
    let error = try await FakeEngineServer.run { _, connection in
      try await connection.reply(body)
    } test: { url in
      let error = await #expect(throws: CentralClientError.self) {
        try await CentralClient(url: url).generate(prompt: "hallo", maxTokens: nil)
      }
      await #expect(throws: CentralClientError.self) {
        try await CentralClient(url: url, statusTime: .seconds(20)).isReachable()
      }
      return error
    }
    #expect(error?.code == .notACentral)
  }

  @Test func nobodyThere() async throws {
    // Port 9 (discard) is served nowhere by default, and binding it takes root.
    let client = CentralClient(url: "http://127.0.0.1:9", statusTime: .seconds(20))
    #expect(try await !client.isReachable())
    let error = await #expect(throws: CentralClientError.self) {
      try await client.generate(prompt: "x", maxTokens: nil)
    }
    #expect(error?.code == .unreachable)
    #expect(await client.status() == CentralStatus(connected: false, scanning: false))
  }
}
