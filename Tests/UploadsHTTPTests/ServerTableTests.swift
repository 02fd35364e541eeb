import Foundation
import Testing

@testable import Uploads

/// What each server does, as the table in docs/uploads.md has it.
@Suite("The table of servers in docs/uploads.md", .timeLimit(.minutes(10)))
struct ServerTableTests {
  @Test("It has what SeaweedFS does", .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"))
  func seaweedFS() async throws { try await agrees(.seaweedFS) }

  @Test("It has what moto does", .enabled(if: Moto.isThere, "needs moto: scripts/python-peers"))
  func moto() async throws { try await agrees(.moto) }

  @Test("It has what rclone does", .enabled(if: Rclone.isThere, "needs rclone: scripts/python-peers"))
  func rclone() async throws { try await agrees(.rclone) }

  @Test("It has what Ceph does", .enabled(if: ScriptedServer.isThere(.ceph), "needs Ceph: scripts/test servers"))
  func ceph() async throws { try await agrees(.ceph) }

  @Test("It has what Swift does", .enabled(if: ScriptedServer.isThere(.swift), "needs Swift: scripts/test servers"))
  func swift() async throws { try await agrees(.swift) }

  private func agrees(_ name: TestedServer.Name) async throws {
    let server = try await TestedServer(name)
    defer { server.end() }
    let found = try await ServerTrial(server).results()
    let table = try ServerTable()
    #expect(table.titles.contains("\(name.rawValue) \(server.version)"), "\(server.version)")
    for (row, result) in found {
      #expect(table.cell(row.rawValue, name.rawValue) == result, "\(name.rawValue): \(row.rawValue)")
    }
    #expect(table.rows == ServerTrial.Row.allCases.map(\.rawValue))
  }
}

/// The table as the document has it.
private struct ServerTable {
  /// The names of the servers, with their versions.
  let titles: [String]
  private let cells: [(row: String, cells: [String])]

  var rows: [String] { cells.map(\.row) }

  init() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/uploads.md")
      .standardized
    let lines = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n")
    let start = try #require(lines.firstIndex { $0.hasPrefix("| server |") })
    func split(_ line: String) -> [String] {
      line.dropFirst().dropLast().components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
    titles = Array(split(lines[start]).dropFirst())
    cells = lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
      let all = split(line)
      return (all[0], Array(all.dropFirst()))
    }
  }

  /// Returns what the document says of a server.
  func cell(_ row: String, _ server: String) -> String? {
    guard let column = titles.firstIndex(where: { $0.hasPrefix(server + " ") }) else { return nil }
    return cells.first { $0.row == row }?.cells[column]
  }
}
