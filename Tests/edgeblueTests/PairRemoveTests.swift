import EdgeCoder
import EdgeCoderTesting
import Foundation
import SystemTesting
import Testing

@testable import edgeblue

@Suite(
  "Removing a bond by the command", .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct PairRemoveTests {
  /// The adapters of a phone and of a central.
  private static let phone = 0
  private static let central = 1

  @Test(
    "The link of a removed peer ends, it is used no more, and both lists of bonds have lost it",
    arguments: [0, 1], [[MuxBearer.gatt], []])
  func removal(side: Int, links: Set<MuxBearer>) async throws {
    let other = 1 - side
    let air = try await FakeTrust.start()
    // It advertises, so it comes before the pairing.
    let transport = try await air.phone(Self.phone, access: .encrypted(), bonds: air.bonds, links: links)
    try await air.pair(Self.central, with: Self.phone)
    try air.admit(Self.central, at: Self.phone, as: .central)
    try air.admit(Self.phone, at: Self.central, as: .phone)
    let phone = PhoneService(transport: transport, engine: CuriousEngine())
    let central = try await air.central(Self.central, access: .encrypted(), bonds: air.bonds)
    try await running([phone.run, central.run]) {
      try await eventually("the phone is ready") { await central.status().phones.first?.state == "ready" }
      #expect(try await central.generate(prompt: "before", maxTokens: nil).answer.text != nil)

      let removed = try await run(air, "pair", "remove", air.lab.adapters[other].address.description)
      #expect(removed.status == 0, "\(removed.errors)")
      #expect(removed.output.contains(#""event":"removed""#))
      #expect(removed.output.contains(#""adapter":"\#(air.lab.adapters[side].name)""#))
      // The one list has the bonds of both adapters.
      #expect(try air.bonds.bonds().map(\.adapter) == [air.lab.adapters[other].address])
      let adapter = try await air.lab.adapter(side)
      #expect(adapter.device(air.lab.adapters[other].address)?.isBonded != true)

      // The programs that run learn of it without a restart.
      try await eventually("the link has ended") {
        await central.status().phones.allSatisfy { $0.state != "ready" }
      }
      await #expect(throws: InferenceError.self) {
        try await central.generate(prompt: "after", maxTokens: nil)
      }
      #expect(await phone.snapshot().counters.requests == 1)
    }
    try await removeTheRest(of: air, at: other)
    try await transport.stop()
    try await air.stop()
  }

  /// Removes what is left on the other side, as the peer's user does.
  private func removeTheRest(of air: FakeTrust, at side: Int) async throws {
    let peer = air.lab.adapters[1 - side].address.description
    let rest = try await run(air, "pair", "remove", peer)
    #expect(rest.status == 0, "\(rest.errors)")
    #expect(try air.bonds.bonds().isEmpty)
    #expect(try await !run(air, "pair", "list").output.contains("address"))
    let again = try await run(air, "pair", "remove", peer)
    #expect(again.status == ExitStatus.unavailable.rawValue)
    #expect(again.errors.contains("is not bonded"))
  }

  private func run(_ air: FakeTrust, _ words: String...) async throws -> (status: Int32, output: String, errors: String)
  {
    guard case .address(let address) = air.lab.bus else { throw MissingProgram("a message bus") }
    return try await ChildProcess(
      program, words + ["--json", "--state", air.folder],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": address, "PATH": "/usr/bin:/bin"], errors: .kept
    ).outcome()
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
