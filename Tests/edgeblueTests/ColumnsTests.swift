import AudioIngest
import AudioIngestTesting
import Foundation
import Glibc
import Testing

@testable import Uploads
@testable import edgeblue

/// The C library's function, which the module of its headers lacks.
@_silgen_name("wcwidth") private func wcwidth(_ letter: wchar_t) -> CInt

/// Lines for terminals of 80 columns, in which a character may take two.
@Suite struct ColumnsTests {
  /// The number of columns by the C library.
  private static func columns(_ text: some StringProtocol) throws -> Int {
    let locale = try #require(newlocale(LC_CTYPE_MASK, "C.UTF-8", nil))
    let before = uselocale(locale)
    defer {
      uselocale(before)
      freelocale(locale)
    }
    return text.unicodeScalars.reduce(0) { $0 + max(Int(wcwidth(wchar_t($1.value))), 0) }
  }

  private static let names = [
    "Omi", "世界の音を録音する小さな機械", "한국어 녹음기 이름이 아주 길다", "🎙🐟🎧🎙🐟🎧🎙🐟🎧🎙🐟🎧", "ｆｕｌｌｗｉｄｔｈ ｎａｍｅ",
    "e\u{301}e\u{301}e\u{301} Grüße", "ไทยไทย", "中a文b中c文d中e文f",
  ]

  @Test("Text is measured, cut, padded and wrapped by the columns that it takes", arguments: names)
  func columns(_ name: String) throws {
    #expect(name.columns == (try Self.columns(name)))
    for width in 2...30 {
      #expect(try Self.columns(name.cut(to: width)) <= width)
      #expect(try Self.columns(name.cut(to: width).padded(to: width + 1)) == width + 1)
      for line in name.wrapped(to: width) { #expect(try Self.columns(line) <= width) }
    }
    #expect(name.wrapped(to: 7).joined().replacing(" ", with: "") == name.replacing(" ", with: ""))
  }

  @Test("Segments of a device with a wide name fit a terminal", arguments: names)
  func segmentsFit(_ name: String) throws {
    let temporary = try TemporaryFolder()
    var recording = try Recording(SegmentFolder(path: temporary.path, limits: .init(reserve: 0)))
    recording.play(frames: 100)
    recording.recorder.end(.shutdown, at: recording.moment)
    let path = try #require(try SegmentCatalog(path: temporary.path).entries.first?.segment.path)
    let sidecar = URL(filePath: path.dropLast(4) + ".json")
    let text = try String(contentsOf: sidecar, encoding: .utf8)
    let long = [name, name, name].joined(separator: " ")
    try Data(text.replacing("\"Omi\"", with: "\"\(long)\"").utf8).write(to: sidecar)
    try Data().write(to: URL(filePath: temporary.path + "/alone.wav"))
    let catalog = try SegmentCatalog(path: temporary.path)
    #expect(catalog.problems.count == 1)
    // A path is not broken.
    let lines = try #require(catalog.entries.first).lines().filter { !$0.hasPrefix("File ") }
    for line in catalog.lines + lines { #expect(try Self.columns(line) <= 80, "\(line)") }
    #expect(lines.contains { $0.hasPrefix("Device ") })
  }

  @Test("Items and events with a long problem fit a terminal") func uploadsFit() throws {
    let content = ObjectContent(path: "/f", size: 1 << 20, sha256: "")
    let request = UploadRequest(content, bucket: "b", key: "ada/day/talk.wav", account: "a")
    var item = UploadItem(
      id: 12, request: request, state: .failed, attempts: 1, queuedAtMs: 0, parts: [], fingerprint: "")
    let problem = [String](repeating: "拒否 access denied", count: 12).joined(separator: " ")
    item.problem = problem
    let event = UploadEvent(
      id: 1, atMs: 0, lastAtMs: 9_000_000, times: 7, item: 12, object: "b/ada/day/talk.wav", kind: .failed,
      failure: .final, reason: problem)
    let list = UploadText.line(item).split(separator: "\n").map(String.init)
    let texts = [list, UploadText.lines(item), UploadText.lines(event)]
    for lines in texts {
      for line in lines { #expect(try Self.columns(line) <= 80, "\(line)") }
      #expect(lines.joined().replacing(" ", with: "").contains(problem.replacing(" ", with: "")))
    }
    #expect(list[0].hasSuffix("b/ada/day/talk.wav"))
  }

  @Test("A long key shows its end at a terminal, and all of it in a file", arguments: names)
  func keysFit(_ name: String) throws {
    let key = "\(name)/\(name)/ada/fa-0b-00-00-00-01/2026-11-22/20261122T004500.000Z-000003.wav"
    let content = ObjectContent(path: "/f", size: 5_760_044, sha256: "")
    let request = UploadRequest(content, bucket: "recordings", key: key, account: "a")
    var item = UploadItem(
      id: 1_234_567, request: request, state: .waiting, attempts: 12, queuedAtMs: 0, parts: [], fingerprint: "")
    item.problem = [String](repeating: name, count: 9).joined(separator: " ")
    for columns in [80, 100] {
      let lines = UploadText.line(item, columns: columns).split(separator: "\n")
      for line in lines { #expect(try Self.columns(line) <= columns, "\(line)") }
      #expect(lines.first?.hasSuffix("/20261122T004500.000Z-000003.wav") == true, "\(lines)")
    }
    #expect(UploadText.line(item).contains("recordings/\(key)\n"))
  }
}
