import BlueZ
import Foundation
import Testing

/// A peer on an independent stack, Bumble, with a virtual controller for it and one for BlueZ on one air.
final class LabPeer: Sendable {
  private let process: Subprocess

  /// - Parameter script: a program of `lab/python`.
  init(_ script: String, _ arguments: [String]) throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../lab/python").standardized
    let program = ["start.py", script].map { folder.appendingPathComponent($0).path }
    process = try Subprocess(try #require(Radio.python), ["-B"] + program + arguments, hasKeyboard: true)
  }

  deinit { process.terminate() }

  /// Sends it a line.
  func type(_ line: String) async throws { try await process.type(line) }

  func terminate() { process.terminate() }

  /// The next adapter it gives to BlueZ.
  func adapter() async throws -> Adapter { try await Radio.adapter(adapterName()) }

  /// The name of the next adapter it gives to BlueZ.
  func adapterName() async throws -> String { try #require(try await next("adapter")["name"] as? String) }

  /// The next line it prints about an event of this kind.
  func next(_ kind: String, within limit: Duration = .seconds(120)) async throws -> [String: any Sendable] {
    let lines = process.lines
    return try await bounded(limit, "the peer's \"\(kind)\"") {
      for await line in lines {
        guard let event = Self.event(line) else {
          print("peer:", line)
          continue
        }
        if event["event"] as? String == kind { return event }
      }
      throw TestTimeout(phase: "the peer ended before \"\(kind)\"")
    }
  }

  /// The plain fields of a JSON line; `nil` for any other line.
  private static func event(_ line: String) -> [String: any Sendable]? {
    let object: Any
    do {
      object = try JSONSerialization.jsonObject(with: Data(line.utf8))
    } catch {
      return nil
    }
    guard let fields = object as? [String: Any] else { return nil }
    var event: [String: any Sendable] = [:]
    for (name, value) in fields {
      if let text = value as? String {
        event[name] = text
      } else if let number = value as? Int {
        event[name] = number
      }
    }
    return event
  }

  func status() async -> Int32 { await process.status() }
}
