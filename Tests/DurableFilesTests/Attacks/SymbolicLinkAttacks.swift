import DurableFiles
import Foundation
import Testing

/// Links that another user leaves where a program writes its state.
@Suite("Symbolic links in state folders") struct SymbolicLinkAttacks {
  private func withFolder(_ body: (_ folder: String, _ precious: String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "links-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
    let precious = folder + "/precious"
    try Data("precious".utf8).write(to: URL(filePath: precious))
    try body(folder, precious)
    #expect(FileManager.default.contents(atPath: precious) == Data("precious".utf8))
  }

  @Test("A lock, a new state file and a continued file never follow a symbolic link")
  func linksAreNotFollowed() throws {
    try withFolder { folder, precious in
      for name in ["lock", "mode.json.new", "events"] {
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: precious)
      }
      #expect(throws: FileError.self) { try FileLock(path: folder + "/lock") }
      #expect(throws: FileError.self) { try FileLock.isHeld(path: folder + "/lock") }
      #expect(throws: FileError.self) { _ = try GrowingFile(folder + "/events", on: Disk(), isContinued: true) }
      let file = WholeFile(path: folder + "/mode.json", limit: 100)
      try file.write(Data("new".utf8))
      #expect(try file.read() == Data("new".utf8))
    }
  }

  @Test("A file that root creates belongs to the owner of its folder", .enabled(if: geteuid() == 0, "needs root"))
  func rootLeavesNoFileOfItsOwn() throws {
    try withFolder { folder, _ in
      let state = try Self.folderOfAnother(in: folder)
      try WholeFile(path: state + "/mode.json", limit: 100).write(Data("new".utf8))
      try #require(try FileLock(path: state + "/lock")).release()
      for name in ["mode.json", "lock"] {
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(state)/\(name)")
        #expect(attributes[.ownerAccountID] as? Int == 1234)
        #expect(attributes[.groupOwnerAccountID] as? Int == 567)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
      }
    }
  }

  @Test("State is not read through a symbolic link") func linksAreNotRead() throws {
    try withFolder { folder, precious in
      try FileManager.default.createSymbolicLink(atPath: folder + "/mode.json", withDestinationPath: precious)
      let error = #expect(throws: FileError.self) { try WholeFile(path: folder + "/mode.json", limit: 100).read() }
      #expect(error?.errno == ELOOP)
    }
  }

  /// A pipe that nobody writes to would hold up whoever opens it.
  @Test("A pipe or a device in the place of state is refused, and not waited for", .timeLimit(.minutes(5)))
  func pipesAreNotRead() throws {
    try withFolder { folder, _ in
      try #require(mkfifo(folder + "/pipe", 0o600) == 0)
      let error = #expect(throws: FileError.self) { try WholeFile(path: folder + "/pipe", limit: 100).read() }
      #expect(error?.errno == EINVAL)
      #expect(throws: FileError.self) { try WholeFile(path: "/dev/null", limit: 100).read() }
      #expect(throws: FileError.self) { try WholeFile(path: folder, limit: 100).read() }
      #expect(throws: FileError.self) { try FileLock.isHeld(path: folder + "/pipe") }
      #expect(throws: FileError.self) { try FileLock(path: folder + "/pipe") }
      #expect(throws: FileError.self) { _ = try GrowingFile(folder + "/pipe", on: Disk(), isContinued: true) }
    }
  }

  @Test("A file that a person names may be a link, and a pipe is not waited for", .timeLimit(.minutes(5)))
  func namedFilesMayBeLinks() throws {
    try withFolder { folder, precious in
      try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: precious)
      #expect(try Disk().read(folder + "/link", limit: 100, followsLinks: true) == Array("precious".utf8))
      try #require(mkfifo(folder + "/pipe", 0o600) == 0)
      #expect(try Disk().read(folder + "/pipe", limit: 100, followsLinks: true)?.isEmpty == true)
    }
  }

  @Test(
    "Root neither changes nor gives away a file that has another name elsewhere",
    .enabled(if: geteuid() == 0, "needs root"))
  func secondNamesAreRefused() throws {
    try withFolder { folder, precious in
      let state = try Self.folderOfAnother(in: folder)
      for name in ["lock", "events"] { try FileManager.default.linkItem(atPath: precious, toPath: "\(state)/\(name)") }
      #expect(throws: FileError.self) { try FileLock(path: state + "/lock") }
      #expect(throws: FileError.self) { _ = try GrowingFile(state + "/events", on: Disk(), isContinued: true) }
      #expect(throws: FileError.self) { try Disk().claim(state + "/lock") }
      #expect(try FileManager.default.attributesOfItem(atPath: precious)[.ownerAccountID] as? Int == 0)
    }
  }

  @Test(
    "A folder that root creates belongs to the owner of the folder above", .enabled(if: geteuid() == 0, "needs root"))
  func rootLeavesNoFolderOfItsOwn() throws {
    try withFolder { folder, _ in
      let state = try Self.folderOfAnother(in: folder)
      try Disk().createFolder(state + "/results/of/today/")
      for name in ["/results", "/results/of", "/results/of/today"] {
        let attributes = try FileManager.default.attributesOfItem(atPath: state + name)
        #expect(attributes[.ownerAccountID] as? Int == 1234)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
      }
      try Disk().createFolder(state)
    }
  }

  private static func folderOfAnother(in folder: String) throws -> String {
    try FileManager.default.createDirectory(
      atPath: folder + "/state", withIntermediateDirectories: false,
      attributes: [.ownerAccountID: 1234, .groupOwnerAccountID: 567])
    return folder + "/state"
  }
}
