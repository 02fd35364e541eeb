import AudioIngestTesting
import Foundation
import Glibc
import SystemTesting
import Testing

@testable import AudioIngest

/// Links, pipes and devices in a folder of recordings.
@Suite("Links among recordings", .computing, .timeLimit(.minutes(5))) struct LinkAttacks {
  /// What is planted in the place of a file.
  enum Plant: CaseIterable { case link, pipe, device }

  private let temporary: TemporaryFolder
  private var root: String { temporary.path + "/recordings" }
  private var paths: SegmentPaths { SegmentPaths(root: root) }

  init() throws { temporary = try TemporaryFolder() }

  /// Puts something else in the place of a file; what was there is where a link leads.
  private func plant(_ plant: Plant, at path: String) throws {
    let elsewhere = temporary.path + "/elsewhere"
    if FileManager.default.fileExists(atPath: path) {
      try FileManager.default.moveItem(atPath: path, toPath: elsewhere)
    } else {
      try Data("7".utf8).write(to: URL(filePath: elsewhere))
    }
    switch plant {
    case .link: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere)
    case .pipe: try #require(mkfifo(path, 0o600) == 0)
    case .device: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/zero")
    }
  }

  /// Records a segment.
  private func segment() throws -> FinishedSegment {
    var recording = try Recording(try SegmentFolder(path: root, limits: .init(reserve: 0)))
    recording.play(frames: 50)
    recording.recorder.end(.shutdown, at: recording.moment)
    return try #require(recording.recorder.finished().first)
  }

  private func expectRefusal(_ body: () throws -> Void) {
    let error = #expect(throws: AudioIngestError.self) { try body() }
    #expect([ELOOP, EINVAL].contains(error?.errno), "\(error as Any)")
  }

  @Test("The samples of a segment are read from its own file alone", arguments: Plant.allCases)
  func samplesAreNotFollowed(of kind: Plant) throws {
    let segment = try segment()
    try plant(kind, at: segment.path)
    expectRefusal { _ = try segment.samples() }
    expectRefusal { try segment.verify() }
    expectRefusal { _ = try SegmentReader(segment) }
  }

  @Test("A sidecar is read from its own file alone", arguments: Plant.allCases)
  func sidecarsAreNotFollowed(of kind: Plant) throws {
    let segment = try segment()
    try plant(kind, at: paths.sidecar(segment.info.name))
    let catalog = try SegmentCatalog(path: root)
    #expect(catalog.entries.isEmpty)
    #expect(catalog.problems.count == 1)
    #expect([ELOOP, EINVAL].contains(catalog.problems.first?.errno))
  }

  @Test(
    "Numbers, labels of stored audio and the choice of a format are in files of the folder alone",
    arguments: Plant.allCases)
  func stateIsNotFollowed(of kind: Plant) throws {
    _ = try segment()
    try plant(kind, at: paths.stored("aa"))
    expectRefusal {
      _ = try StoredSpool.existing("aa", in: try SegmentFolder(path: root, limits: .init(reserve: 0)))
    }
    try FileManager.default.removeItem(atPath: temporary.path + "/elsewhere")
    try plant(kind, at: paths.delivery)
    expectRefusal { _ = try SegmentCatalog(path: root).delivery() }
    try FileManager.default.removeItem(atPath: temporary.path + "/elsewhere")
    try plant(kind, at: paths.counter)
    expectRefusal { _ = try SegmentFolder(path: root, limits: .init(reserve: 0)) }
  }
}
