import BlueZ
import Foundation
import Testing

/// Compares the article about releases with the table in the code.
@Suite struct WhichBlueZTests {
  private static let article = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Sources/BlueZ/BlueZ.docc/WhichBlueZ.md").standardized

  @Test("The article's table equals the one in the code") func theTableIsTheCodes() throws {
    let text = try String(contentsOf: Self.article, encoding: .utf8)
    let rows = text.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2).map(String.init)
    let expected = BlueZRelease.Capability.all.map {
      "| \($0.title) | \(since($0)) | \($0.limitation) | \($0.source) |"
    }
    #expect(rows == expected)
  }

  private func since(_ capability: BlueZRelease.Capability) -> String {
    guard let lost = capability.lostIn else { return capability.since?.description ?? "none yet" }
    let last = lost.upperBound == lost.lowerBound ? "" : " to \(lost.upperBound)"
    return "all but \(lost.lowerBound)\(last)"
  }
}
