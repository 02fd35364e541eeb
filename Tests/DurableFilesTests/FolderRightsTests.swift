import DurableFiles
import Foundation
import Testing

@Suite("Folders of state and recordings") struct FolderRightsTests {
  @Test("A folder is created for its owner alone, with those above it") func ownersOnly() throws {
    let root = FileManager.default.temporaryDirectory.appending(path: "rights-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: root) } }
    try Disk().createFolder(root.path + "/a/b")
    for name in ["a", "a/b"] {
      let rights = try FileManager.default.attributesOfItem(atPath: root.path + "/" + name)[.posixPermissions] as? Int
      #expect(rights == 0o700, "\(name)")
    }
  }
}
