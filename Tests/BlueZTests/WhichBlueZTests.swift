import BlueZ
import Foundation
import Testing

@Suite("The article about releases and the table in the code") struct WhichBlueZTests {
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
    if lost.upperBound == .latest { return "before \(lost.lowerBound)" }
    let last = lost.upperBound == lost.lowerBound ? "" : " to \(lost.upperBound)"
    return "all but \(lost.lowerBound)\(last)"
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

  /// The capabilities by the names that they have in the code.
  private static func capabilities() throws -> [String: BlueZRelease.Capability] {
    let source = folder.appending(path: "Sources/BlueZ/BlueZRelease+Capabilities.swift")
    let text = try String(contentsOf: source, encoding: .utf8)
    let titles = text.matches(of: /public static let (\w+) = Capability\(\s*"([^"]+)"/)
    return Dictionary(
      uniqueKeysWithValues: try titles.map { match in
        let known = BlueZRelease.Capability.all.first { $0.title == match.2 }
        return (String(match.1), try #require(known, "\(match.1) is not among all"))
      })
  }

  /// The releases and the names of each row of the table of differences.
  private static func differences() throws -> [(releases: String, names: [String])] {
    let text = try String(contentsOf: folder.appending(path: "docs/bluez-versions.md"), encoding: .utf8)
    let section = try #require(text.split(separator: "## What differs").last)
    return section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().compactMap { row in
      let cells = row.split(separator: " | ").map { $0.trimming { $0 == "|" || $0 == " " } }
      guard let first = cells.first, let last = cells.last else { return nil }
      return (String(first), last.matches(of: /`(\w+)`/).map { String($0.1) })
    }
  }

  @Test("Every capability is a row of the table of differences, with the releases that lack it")
  func theDifferencesAreTheCodes() throws {
    let capabilities = try Self.capabilities()
    #expect(capabilities.count == BlueZRelease.Capability.all.count)
    let rows = try Self.differences()
    #expect(Set(rows.flatMap(\.names)) == Set(capabilities.keys))
    for (name, capability) in capabilities {
      #expect(rows.filter { $0.names.contains(name) }.map(\.releases) == [lacking(capability)], "\(name)")
    }
  }

  private func lacking(_ capability: BlueZRelease.Capability) -> String {
    guard let since = capability.since else { return "all" }
    guard let lost = capability.lostIn else { return "before \(since)" }
    if lost.upperBound == .latest { return "from \(lost.lowerBound)" }
    return lost.upperBound == lost.lowerBound ? "\(lost.lowerBound)" : "\(lost.lowerBound)–\(lost.upperBound)"
  }
}

extension Substring {
  /// Returns the text without the characters at both ends that a rule names.
  fileprivate func trimming(_ isOuter: (Character) -> Bool) -> Substring {
    let start = drop(while: isOuter)
    return start[..<(start.lastIndex { !isOuter($0) }.map { start.index(after: $0) } ?? start.startIndex)]
  }
}
