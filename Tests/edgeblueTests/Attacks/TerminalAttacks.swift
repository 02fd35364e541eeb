import Agent
import Foundation
import JSONValues
import SystemState
import Testing

@testable import Uploads
@testable import edgeblue

/// Texts from the air and from servers that would control a terminal. ``TerminalProgramAttacks`` has the commands that
/// talk to devices.
@Suite("Text that controls a terminal") struct TerminalAttacks {
  /// Set the clipboard (OSC 52), the title, delete a line; bell, CSI in one byte, bidirectional override.
  static let sequences = [
    "\u{1b}]52;c;cm0gLXJm\u{7}", "\u{1b}]0;t\u{7}", "\u{1b}[2K", "\u{7f}", "\u{9b}31m", "\u{202e}",
  ]
  private static let hostile = sequences.joined()

  /// Checks that a text has lines and tabs, and no other control character.
  static func expectHarmless(_ text: String, _ name: String) {
    let found = text.unicodeScalars.filter {
      [.control, .format].contains($0.properties.generalCategory) && !"\n\t".unicodeScalars.contains($0)
    }
    #expect(found.isEmpty, "\(name) printed \(found.map { String($0.value, radix: 16) }) in \(text.debugDescription)")
  }

  @Test("No control sequence of a reply reaches the terminal; its lines and tabs do")
  func sequencesAreMadeVisible() {
    for hidden in Self.sequences + ["\u{1b}[31m"] {
      let shown = "one\(hidden)\n\ttwo\r\n".printableLines
      Self.expectHarmless(shown, "a reply")
      #expect(shown.hasPrefix("one"))
      #expect(shown.contains("\n\ttwo"))
    }
    #expect("häß\t😀\n".printableLines == "häß\t😀\n")
  }

  @Test("No control sequence in a string of JSON reaches the terminal, and its reader gets it")
  func jsonIsHarmless() throws {
    let value = JSONValue.object(["name\u{9b}": .string("häß 😀 \(Self.hostile)\u{e0001}\u{2028}\n\"\\")])
    Self.expectHarmless(value.line, "JSON")
    let read = try #require(try JSONSerialization.jsonObject(with: Data(value.line.utf8)) as? [String: String])
    #expect(read == ["name\u{9b}": "häß 😀 \(Self.hostile)\u{e0001}\u{2028}\n\"\\"])
  }

  @Test("Of all control sequences in a line only the colours of the commands are kept")
  func onlyColoursAreKept() {
    let line = "\u{1b}[1mbold\u{1b}[0m\(Self.hostile)\u{1b}[31mred\u{1b}[0m\u{1b}\u{1b}[5;31m\u{1b}["
    for keepsLines in [true, false] {
      let shown = line.printablePainted(keepsLines: keepsLines)
      #expect(shown.hasPrefix("\u{1b}[1mbold\u{1b}[0m\u{fffd}]52;c;"))
      #expect(shown.contains("\u{1b}[31mred\u{1b}[0m\u{fffd}\u{fffd}[5;31m\u{fffd}["))
      let plain = Terminal.Paint.sequences.reduce(shown) { $0.replacing($1, with: "") }
      Self.expectHarmless(plain, "a line")
    }
    #expect("a\tb\nc".printablePainted(keepsLines: true) == "a\tb\nc")
    #expect("a\tb\nc".printablePainted(keepsLines: false) == "a\u{fffd}b\u{fffd}c")
    var screen = LiveScreen()
    #expect(!screen.frame(["one\u{1b}[2K\ntwo"], width: 80).dropFirst(5).contains("\u{1b}[2K\n"))
    #expect(screen.frame(["\u{1b}]52;c;cm0gLXJm\u{7}"], width: 80).contains("\u{fffd}]52;c;cm0gLXJm\u{fffd}"))
  }

  @Test("The agent's status, tasks and events are harmless") func theAgentIsHarmless() {
    var status = AgentStatus(mode: .bluetoothLocal, network: .init(status: .unsatisfied, reason: Self.hostile))
    status.lastFailure = Self.hostile
    status.storageProblem = Self.hostile
    status.coordinator = CoordinatorStatus(
      address: Self.hostile, agentID: Self.hostile, isRegistered: true, problem: Self.hostile)
    Self.expectHarmless(status.lines.joined(separator: "\n"), "status")
    var task = AgentTaskStatus("io.edgecoder.ios.heartbeat", .refresh)
    task.problem = Self.hostile
    Self.expectHarmless(task.line.printablePainted(keepsLines: true), "tasks")
  }

  @Test("The items, events and notes of the queue are harmless") func uploadsAreHarmless() {
    let content = ObjectContent(path: Self.hostile, size: 1, sha256: Self.hostile)
    let request = UploadRequest(content, bucket: Self.hostile, key: Self.hostile, account: Self.hostile)
    var item = UploadItem(
      id: 1, request: request, state: .failed, attempts: 1, queuedAtMs: 0, parts: [], fingerprint: "")
    item.problem = Self.hostile
    var status = UploadQueue.Status()
    status.credentialProblems = [Self.hostile: Self.hostile]
    status.problem = Self.hostile
    let lines = UploadText.lines(item) + [UploadText.line(item)] + UploadText.notes(status)
    Self.expectHarmless(lines.joined(separator: "\n"), "uploads")
  }

  @Test("Power supplies and network interfaces are harmless") func theHostIsHarmless() {
    let power = PowerSnapshot(
      telemetry: PowerTelemetry(
        onExternalPower: true, batteryLevelPct: nil, lowPowerMode: false, updatedAtMs: 1_000),
      externalPower: .noBattery, faults: [SupplyFault(supply: Self.hostile, file: Self.hostile, text: Self.hostile)])
    Self.expectHarmless(power.lines.joined(separator: "\n"), "power")
  }
}
