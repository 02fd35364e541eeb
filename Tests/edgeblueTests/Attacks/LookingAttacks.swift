import Foundation
import SystemTesting
import Testing
import Uploads

@testable import edgeblue

/// Root, who looks into the folder of a service.
@Suite(
  "Commands that only look",
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct LookingAttacks {
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-looking-\(UUID().uuidString.prefix(8))"
  private static let commands = [
    ["uploads"], ["uploads", "list", "--all", "--json"], ["uploads", "events"], ["uploads", "show", "1"],
    ["doctor"], ["pair", "list"], ["status", "--bus", "unix:path=/nonexistent"],
  ]
  /// Commands that change items, where there are none.
  private static let changes = [
    ["uploads", "verify"], ["uploads", "verify", "1"], ["uploads", "retry"], ["uploads", "retry", "1"],
    ["uploads", "drop", "1"], ["uploads", "move", "--to", "http://127.0.0.1:9"], ["uploads", "pause", "1"],
    ["uploads", "resume"],
  ]

  /// Runs a command over a state folder.
  private func run(_ command: [String], over state: String) async throws -> (status: Int32, output: String) {
    let hasFolder = command[0] != "status"
    let process = try ChildProcess(
      program, command + (hasFolder ? ["--state", state] : []),
      environment: ["HOME": folder, "STATE_DIRECTORY": state],
      errors: .discarded)
    let outcome = await process.outcome()
    return (outcome.status, outcome.output)
  }

  @Test(
    "Looking creates no folder and no file, and neither does a change of items that do not exist",
    arguments: commands + changes)
  func nothingIsCreated(command: [String]) async throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
    _ = try await run(command, over: folder + "/state")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
  }

  @Test(
    "Root leaves the folder of a service as it is", .enabled(if: geteuid() == 0, "needs root"), arguments: commands)
  func rootLeavesNothing(command: [String]) async throws {
    let state = folder + "/state"
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
    try { try QueueStore(in: state).setPaused(true) }()
    let owner: [FileAttributeKey: Any] = [.ownerAccountID: 1234, .groupOwnerAccountID: 567]
    let names = try FileManager.default.contentsOfDirectory(atPath: state)
    for path in names.map({ "\(state)/\($0)" }) + [state] {
      try FileManager.default.setAttributes(owner, ofItemAtPath: path)
    }
    let outcome = try await run(command, over: state)
    if command == ["uploads"] { #expect(outcome.output.contains("the queue is paused")) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: state).sorted() == names.sorted())
    for name in names {
      #expect(try FileManager.default.attributesOfItem(atPath: "\(state)/\(name)")[.ownerAccountID] as? Int == 1234)
    }
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
