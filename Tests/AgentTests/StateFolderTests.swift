import Foundation
import Testing

@testable import Agent

@Suite("The state folder") struct StateFolderTests {
  @Test("Only one agent at a time owns the folder") func oneAgentAtATimeHasIt() throws {
    let base = FileManager.default.temporaryDirectory.appending(path: "edgeblue-state-\(UUID().uuidString.prefix(8))")
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: base) } }
    let path = base.appending(path: "a/b").path
    var first: StateFolder? = try StateFolder(path: path + "/")
    #expect(first?.path == path)
    let rights = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(rights == 0o700)
    let error = #expect(throws: AgentError.self) { try StateFolder(path: path) }
    #expect(error?.code == .alreadyRunning)
    first = nil
    first = try StateFolder(path: path)
    try first?.modes.save(ModeRecord(mode: .on))

    // A file where the folder should be.
    let blocked = #expect(throws: AgentError.self) { try StateFolder(path: path + "/mode.json/state") }
    #expect(blocked?.code == .storage)
    #expect(blocked?.errno == ENOTDIR)
    #expect(blocked?.message == "creating the folder \(path)/mode.json/state: Not a directory")
  }

  @Test("A folder that every user may change is refused") func anOpenFolderIsRefused() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "edgeblue-open-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: path) } }
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
    let error = #expect(throws: AgentError.self) { try StateFolder(path: path) }
    #expect(error?.code == .storage)
    #expect(error?.errno == EPERM)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
  }

  @Test(
    "The default folder follows the environment",
    arguments: [
      (["STATE_DIRECTORY": "/var/lib/one:/var/lib/two", "HOME": "/h"], true, "/var/lib/one"),
      (["HOME": "/root"], true, "/var/lib/edgeblue"), (["HOME": "/h", "XDG_STATE_HOME": "/x"], false, "/x/edgeblue"),
      (["HOME": "/h", "XDG_STATE_HOME": "relative"], false, "/h/.local/state/edgeblue"),
      (["HOME": "/h", "STATE_DIRECTORY": ""], false, "/h/.local/state/edgeblue"), ([:], false, nil),
    ])
  func whereItUsuallyIs(environment: [String: String], isRoot: Bool, path: String?) {
    #expect(StateFolder.usualPath(environment: environment, isRoot: isRoot) == path)
  }
}
