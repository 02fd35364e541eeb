import DurableFiles
import Foundation
import Testing

@testable import Agent

@Suite("The mode on disk") struct ModeStoreTests {
  private let folder: URL
  private let store: ModeStore

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "edgeblue-mode-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    store = ModeStore(path: folder.appending(path: "mode.json").path)
  }

  private func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }

  @Test("A saved mode is restored") func whatIsSavedIsRestored() throws {
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    #expect(try store.load() == .init(value: ModeRecord(), problem: nil))
    for mode in ComputeMode.allCases {
      for cause in ModeRecord.Cause.allCases {
        let record = ModeRecord(mode: mode, cause: cause, runOnlyWhileCharging: mode == .on)
        try store.save(record)
        #expect(try store.load() == .init(value: record, problem: nil))
        #expect(try files() == ["mode.json"])
      }
    }
    let rights = try FileManager.default.attributesOfItem(atPath: store.path)[.posixPermissions] as? Int
    #expect(rights == 0o600)
  }

  @Test(
    "A corrupt file is renamed, and the mode is Off",
    arguments: [
      "", "{", "null", #"{"version":2,"record":{"mode":"on","cause":"person","runOnlyWhileCharging":false}}"#,
      #"{"version":1,"record":{"mode":"turbo","cause":"person","runOnlyWhileCharging":false}}"#,
      #"{"version":1,"record":{"mode":"on"}}"#, "\u{0}\u{0}\u{0}\u{0}",
      #"{"version":1,"record":{"mode":"on","cause":"person","runOnlyWhileCharging":false}}"#
        + String(repeating: " ", count: 4096),
    ])
  func aDamagedFileIsKeptAsideAndTheModeIsOff(text: String) throws {
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    try Data(text.utf8).write(to: URL(filePath: store.path))
    let loaded = try store.load()
    #expect(loaded.value == ModeRecord())
    #expect(loaded.problem?.code == .damagedFile)
    #expect(loaded.problem?.hint?.contains(store.damagedPath) == true)
    #expect(try files() == ["mode.json.damaged"])
    // `Data(contentsOf:)` leaks its buffer when the file is empty.
    let kept = try FileHandle(forReadingFrom: URL(filePath: store.damagedPath)).readToEnd() ?? Data()
    #expect(kept == Data(text.utf8))
    #expect(try store.load().problem == nil)
  }

  /// On by itself is none of the modes there are.
  @Test("An impossible combination of mode and cause is corrected") func aCombinationThatCannotBe() throws {
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    let text = #"{"version":1,"record":{"mode":"on","cause":"network-loss","runOnlyWhileCharging":true}}"#
    try Data(text.utf8).write(to: URL(filePath: store.path))
    #expect(try store.load().value == ModeRecord(mode: .on, cause: .person, runOnlyWhileCharging: true))
  }

  @Test("A file that cannot be read or written throws an error") func whatCannotBeReadOrWrittenIsSaid() throws {
    let lost = ModeStore(path: folder.appending(path: "nowhere/mode.json").path)
    let error = #expect(throws: AgentError.self) { try lost.save(ModeRecord(mode: .on)) }
    #expect(error?.code == .storage)
    #expect(error?.errno == ENOENT)
    #expect(error?.hint != nil)

    // A folder in its place can be opened, and neither read nor replaced.
    try FileManager.default.createDirectory(atPath: store.path, withIntermediateDirectories: false)
    #expect(throws: AgentError.self) { try store.load() }
    #expect(throws: AgentError.self) { try store.save(ModeRecord()) }
    try FileManager.default.removeItem(at: folder)
  }

  /// What a crash leaves between writing and renaming is no obstacle.
  @Test("A temporary file that a crash left is replaced") func aLeftOverIsReplaced() throws {
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    try store.save(ModeRecord(mode: .on))
    try Data(repeating: 0x7b, count: 9000).write(to: folder.appending(path: "mode.json.new"))
    #expect(try store.load().value.mode == .on)
    try store.save(ModeRecord(mode: .bluetoothLocal, cause: .networkLoss))
    #expect(try store.load().value == ModeRecord(mode: .bluetoothLocal, cause: .networkLoss))
    #expect(try files() == ["mode.json"])
  }

  @Test("A full disk leaves the old mode in the file") func aFullDiskLeavesWhatWasThere() throws {
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    try store.save(ModeRecord(mode: .on))
    let full = ModeStore(path: store.path, disk: Disk { step, _ in step == .write ? ENOSPC : nil })
    let error = #expect(throws: AgentError.self) { try full.save(ModeRecord()) }
    #expect(error?.errno == ENOSPC)
    #expect(try store.load().value.mode == .on)
  }
}
