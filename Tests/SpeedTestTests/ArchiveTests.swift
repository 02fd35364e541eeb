import DurableFiles
import Foundation
import Glibc
import Places
import Testing

@testable import SpeedTest

@Suite("Stored results") struct ArchiveTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "results-\(UUID().uuidString)").path

  private func remove() { try? FileManager.default.removeItem(atPath: folder) }

  static func result(failure: SpeedTestResult.Failure? = nil) throws -> SpeedTestResult {
    var result = SpeedTestResult(threads: 2)
    let samples = [
      [ThroughputSample(nanoseconds: 1_000_000_000, bytes: 1000), .init(nanoseconds: 2_000_000_000, bytes: 2000)],
      [ThroughputSample(nanoseconds: 500_000_000, bytes: 400), .init(nanoseconds: 2_500_000_000, bytes: 2600)],
    ]
    result.download = .init(
      throughput: try #require(Throughput(threads: samples)), samples: samples, totalBytes: 4600, chunkSize: 4096)
    result.pings = [PingSample(client: 900, server: 800), PingSample(client: 700, server: .max)]
    result.failure = failure
    return result
  }

  private func record(_ result: SpeedTestResult) -> SpeedTestRecord {
    var record = SpeedTestRecord(result, server: "192.0.2.1:5231", startMs: 1_800_000_000_000, durationMs: 19_000)
    record.ends = .init(server: "192.0.2.1:5231", local: "192.0.2.2:4000", version: "1.6.0", tls: "TLSv1.3")
    record.ends?.cipher = "TLS_AES_128_GCM_SHA256"
    record.ends?.interface = "eth0"
    record.alongside = ["upload"]
    record.traffic = InterfaceTraffic(interface: "eth0", test: .init(received: 5, sent: 6))
    record.locations = Place(latitude: 48.2, longitude: 16.4).map { [.init($0, provider: "gpsd", nanoseconds: 7)] }
    return record
  }

  @Test("A result is read as it was stored, with all its samples") func roundTrip() throws {
    defer { remove() }
    let archive = SpeedTestArchive(path: folder)
    let result = try Self.result()
    let stored = try archive.add(record(result))
    #expect(stored.number == 1)
    let read = try #require(try archive.record(1))
    #expect(read == stored)
    #expect(read.result == result)
    #expect(read.result.upload == nil)
    #expect(try archive.record(2) == nil)
  }

  @Test("The reason of a test that did not finish is kept") func failures() throws {
    defer { remove() }
    let archive = SpeedTestArchive(path: folder)
    let error = SpeedTestError(.timedOut, "no answer")
    _ = try archive.add(record(try Self.result(failure: .init(phase: .upload, error: error))))
    _ = try archive.add(record(try Self.result(failure: .init(phase: .latency, error: nil))))
    let first = try #require(try archive.record(1)?.result.failure)
    #expect(first.phase == .upload)
    #expect(first.error?.message == "no answer")
    #expect(first.error?.code.description == "timed out")
    let second = try #require(try archive.record(2)?.result.failure)
    #expect(second == .init(phase: .latency, error: nil))
  }

  @Test("The newest result of a test of a loop is found") func loops() throws {
    defer { remove() }
    let archive = SpeedTestArchive(path: folder)
    let loop = SpeedTestRecord.Loop(id: UUID(), test: 2, attempt: 1)
    #expect(try archive.record(of: loop) == nil)
    var one = record(try Self.result())
    one.loop = loop
    _ = try archive.add(one)
    _ = try archive.add(record(try Self.result()))
    try Data("{".utf8).write(to: URL(filePath: folder + "/000003.json"))
    #expect(try archive.record(of: loop)?.number == 1)
    #expect(try archive.record(of: .init(id: loop.id, test: 2, attempt: 2)) == nil)
  }

  @Test("The oldest results are removed beyond the capacity, and numbers are not used again") func capacity() throws {
    defer { remove() }
    let archive = SpeedTestArchive(path: folder)
    _ = try archive.add(record(try Self.result()))
    for number in 2...SpeedTestArchive.capacity + 1 {
      let digits = String(number)
      let name = String(repeating: "0", count: 6 - digits.count) + digits
      try FileManager.default.copyItem(atPath: folder + "/000001.json", toPath: folder + "/\(name).json")
    }
    let stored = try archive.add(record(try Self.result()))
    #expect(stored.number == SpeedTestArchive.capacity + 2)
    #expect(try archive.numbers() == Array(3...SpeedTestArchive.capacity + 2))
  }

  @Test("A file that is corrupt, or whose rate its samples do not have, is not shown") func corrupt() throws {
    defer { remove() }
    let archive = SpeedTestArchive(path: folder)
    _ = try archive.add(record(try Self.result()))
    let path = folder + "/000001.json"
    let good = try String(contentsOfFile: path, encoding: .utf8)
    for (old, new) in [
      ("16200", "99999"), ("\"number\":1", "\"number\":2"), ("[[1000000000,", "[["), ("\"threads\":2", "\"threads\":0"),
      ("}", ""),
    ] {
      let bad = good.replacing(old, with: new)
      #expect(bad != good, "\(old)")
      try Data(bad.utf8).write(to: URL(filePath: path))
      let error = #expect(throws: SpeedTestError.self, "\(new)") { try archive.record(1) }
      #expect(error?.code == .damagedFile)
    }
  }

  @Test("A full disk leaves no result, and none is half written") func fullDisk() throws {
    defer { remove() }
    _ = try SpeedTestArchive(path: folder).add(record(try Self.result()))
    for step in [DiskStep.open, .write, .sync, .rename] {
      let disk = Disk { done, path in done == step && path.contains("000002") ? ENOSPC : nil }
      let error = #expect(throws: SpeedTestError.self) {
        try SpeedTestArchive(path: folder, disk: disk).add(record(try Self.result()))
      }
      #expect(error?.code == .storage)
      #expect(try SpeedTestArchive(path: folder).numbers() == [1])
    }
  }

  @Test("Names of other files are ignored") func otherFiles() throws {
    defer { remove() }
    let archive = SpeedTestArchive(path: folder)
    _ = try archive.add(record(try Self.result()))
    for name in ["1.json", "0000002.json", "x.json", "000003.json.new", "-00004.json"] {
      try Data().write(to: URL(filePath: folder + "/" + name))
    }
    #expect(try archive.numbers() == [1])
  }
}
