import EdgeCoder
import EdgeCoderTesting
import Foundation
import SystemState
import SystemTesting
import Testing

@testable import edgeblue

/// The access modes and the list of bonds, as the commands apply them.
@Suite(
  "Access as the commands apply it",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct AccessProgramAttacks {
  /// Starts a command at an adapter, with the list of bonds of the fake.
  private func start(_ words: [String], at index: Int, _ air: FakeTrust) throws -> ChildProcess {
    guard case .address(let bus) = air.lab.bus else { throw MissingProgram("a bus of its own") }
    return try ChildProcess(
      program, words + ["--adapter", air.lab.adapters[index].name, "--state", air.folder],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus, "HOME": air.folder, "PATH": "/usr/bin:/bin"], errors: .kept)
  }

  /// A central with a phone in range, and the reason why it does not use it.
  struct Choice: Sendable, CustomTestStringConvertible {
    var options: [String] = []
    var isPaired = true
    var isListed = true
    var refusal: String?

    var testDescription: String { "\(options) \(isPaired) \(isListed)" }
  }

  @Test(
    "A central uses a paired phone in its list of bonds, and others only in the mode open",
    arguments: [
      Choice(isPaired: false, refusal: "is not paired with this central"),
      Choice(isListed: false, refusal: "is bonded, but not as a phone of this central"),
      Choice(options: ["--allow", "00:AA:01:00:00:99"], refusal: "is bonded, but not on the allow list"),
      Choice(), Choice(options: ["--access", "open"], isPaired: false, isListed: false),
    ])
  func phonesOfACentral(choice: Choice) async throws {
    let air = try await FakeTrust.start()
    let transport = try await air.phone(0, access: .open)
    if choice.isListed { try air.admit(0, at: 1, as: .phone) }
    if choice.isPaired { try await air.pair(1, with: 0) }
    let central = try start(["central", "--port", "0", "--json"] + choice.options, at: 1, air)
    defer { central.kill() }
    var line = ""
    while field("event", of: line) != "found" { line = try await central.firstLine() }
    if let refusal = choice.refusal {
      #expect(field("refusal", of: line)?.contains(refusal) == true, "\(line)")
    } else {
      #expect(line.contains(#""refusal":null"#), "\(line)")
    }
    try await transport.stop()
    try await air.stop()
  }

  /// The kernel has no such controller, and a phone that cannot ask it who is encrypted enforces no closed mode.
  @Test(
    "A phone is closed unless --access opens it",
    arguments: [[], ["--access", "encrypted"], ["--access", "authenticated"], ["--allow", "00:AA:01:00:00:99"]])
  func phonesAreClosed(options: [String]) async throws {
    let air = try await FakeTrust.start()
    let phone = try start(["phone"] + options, at: 0, air)
    await #expect(throws: MissingProgram.self, "it ends before it says that it works") { try await phone.firstLine() }
    phone.kill()
    let (status, _, errors) = await phone.outcome()
    #expect(status != 0)
    #expect(errors.contains("reading the connections of"), "\(errors)")
    #expect(await air.lab.adapters[0].holdings() == .init())
    try await air.stop()
  }

  /// The agent stays, says why its phone does not work, and tries again.
  @Test(
    "The phone of an agent is closed unless --access opens it",
    arguments: [[], ["--access", "encrypted"], ["--access", "authenticated"], ["--allow", "00:AA:01:00:00:99"]])
  func phonesOfAgentsAreClosed(options: [String]) async throws {
    let air = try await FakeTrust.start()
    guard case .address(let bus) = air.lab.bus else { throw MissingProgram("a bus of its own") }
    let agent = try start(["agent", "--bus", bus] + options, at: 0, air)
    defer { agent.kill() }
    while try await !agent.firstLine().contains("mode Off") {}
    let mode = try ChildProcess(program, ["mode", "local", "--bus", bus], output: .discarded)
    #expect(await mode.outcome().status == 0)
    try await eventually("the agent says why its phone does not work") {
      let status = try ChildProcess(program, ["status", "--json", "--bus", bus])
      let failure = field("lastFailure", of: await status.outcome().output)
      return failure?.contains("reading the connections of") == true
    }
    #expect(await air.lab.adapters[0].holdings() == .init())
    try await air.stop()
  }

  @Test("With --access open a phone answers, and a central asks, whoever is in range") func openRoles() async throws {
    let air = try await FakeTrust.start()
    let phone = try start(["phone", "--access", "open"], at: 0, air)
    defer { phone.kill() }
    while try await !phone.firstLine().contains("access open") {}
    let ask = try start(["ask", "--direct", "--access", "open", "for everybody"], at: 1, air)
    let (status, output, errors) = await ask.outcome()
    #expect(status == 0, "\(errors)")
    #expect(output.contains("for everybody"))
    try await air.stop()
  }

  @Test("ask gives an unpaired phone no prompt") func asking() async throws {
    let air = try await FakeTrust.start()
    let transport = try await air.phone(0, access: .open)
    let ask = try start(["ask", "--direct", "--wait", "3", "for friends only"], at: 1, air)
    let (status, _, errors) = await ask.outcome()
    #expect(status != 0)
    #expect(errors.contains("is not paired with this central"), "\(errors)")
    try await transport.stop()
    try await air.stop()
  }

  @Test("Without options a phone serves the bonds in its list and no others") func theListAdmits() async throws {
    let air = try await FakeTrust.start()
    let adapter = try await air.lab.adapter(0)
    let engine = CuriousEngine()
    let power = try await PowerMonitor.start()
    let radio = Radio(session: adapter.session, adapter: adapter, version: await adapter.session.version())
    let (transport, phone) = try await (try PhoneOptions.parse([])).start(
      on: radio, engine: engine, power: power, bonds: air.bonds, connections: air.connections(isCentral: false))
    let central = try await air.central(1, access: .encrypted())
    try await running([phone.run, central.run]) {
      try await air.pair(1, with: 0)
      try await eventually("the phone refuses") { await phone.snapshot().counters.refused.accesses > 0 }
      #expect(await phone.snapshot().counters.requests == 0)
      try air.admit(1, at: 0, as: .central)
      // A bond that comes into the list more than five seconds after it was made has lost its first connection.
      try await eventually("the phone answers") {
        (try? await central.generate(prompt: "hello", maxTokens: nil))?.answer.output == "hello"
      }
    }
    #expect(Set(engine.prompts.withLock { $0 }) == ["hello"])
    power.close()
    try await transport.stop()
    try await air.stop()
  }

  @Test("While the sender of messages runs, a second bond under the identity of its relay ends the admission")
  func aRunningSender() async throws {
    let air = try await FakeTrust.start()
    guard case .address(let bus) = air.lab.bus else { throw MissingProgram("a bus of its own") }
    let messages = try MessagesCommands(program)
    try await messages.setUp(server: "http://127.0.0.1:9")
    let relay = try await air.lab.adapter(0)
    let advertisement = try await relay.advertise(.init(services: [L2CAPRelayChannel.service]))
    try air.admit(0, at: 1, as: .phone, madeMs: 0)
    let sender = try ChildProcess(
      program,
      [
        "messages", "run", "--state", messages.folder + "/state", "--bonds", air.folder, "--relay",
        relay.address.description, "--adapter", air.lab.adapters[1].name,
      ], environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus, "HOME": messages.folder, "PATH": "/usr/bin:/bin"])
    defer { sender.kill() }
    while try await !sender.firstLine().contains("Sending to the relay") {}
    try await air.pair(1, with: 0)
    try await eventually("the admission is over") { try air.bonds.bonds().isEmpty }
    sender.kill()
    try await advertisement.stop()
    try await air.stop()
    try messages.remove()
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
