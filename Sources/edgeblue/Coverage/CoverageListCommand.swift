import ArgumentParser
import Coverage
import JSONValues

/// `edgeblue coverage list`
struct CoverageListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the sessions that the control server does not have yet (the default).",
    discussion: "The oldest one is first. With --json there is one object on each line.")

  @OptionGroup var state: CoverageFolderOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let folder = try state.folder()
      let sessions = try folder.copy().sessions()
      if sessions.isEmpty { terminal.say(folder.emptiness) }
      for session in sessions {
        if terminal.json { terminal.print(json: .object(session.json)) }
        terminal.say(session.line)
      }
    }
  }
}

/// `edgeblue coverage show`
struct CoverageShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print a session with its fences.",
    discussion: "With --json it is one object.")

  @Argument(help: "The number of the session, from `edgeblue coverage list`; without one, the newest.")
  var session: Int64?
  @OptionGroup var state: CoverageFolderOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let store = try state.folder().copy()
      let newest = try store.sessions().map(\.id).max()
      guard let id = session ?? newest else {
        throw Failure("no session is stored", hint: "`edgeblue coverage run` measures one", status: .unavailable)
      }
      let session = try store.session(id)
      let fences = try store.fences(of: id)
      if terminal.json {
        return terminal.print(json: .object(session.json.merging(["places": .array(fences.map(\.json))]) { $1 }))
      }
      terminal.say(session.line)
      for fence in fences { terminal.say(fence.line) }
    }
  }
}

/// `edgeblue coverage drop`
struct CoverageDropCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "drop", abstract: "Remove a session without sending it.",
    discussion: "A session that is being measured or sent is left alone.")

  @Argument(help: "The number of the session, from `edgeblue coverage list`.") var session: Int64
  @OptionGroup var state: CoverageFolderOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      guard let store = try state.folder().existingStore() else {
        throw Failure("no session is stored", status: .unavailable)
      }
      try store.drop(session)
      terminal.happened("session \(session) is removed", "dropped", ["id": .number(Int(session))])
    }
  }
}

extension CoverageSession {
  var json: [String: JSONValue] {
    [
      "id": .number(Int(id)), "session": JSONValue(uuid), "server": .string(server),
      "startMs": .number(Int(startedUs / 1000)),
      "endMs": JSONValue(finalizedUs.map { Int($0 / 1000) }), "fences": .number(fences),
      "attempts": .number(sending.attempts), "refusals": .number(sending.refusals),
      "problem": JSONValue(sending.problem),
    ]
  }

  fileprivate var line: String {
    let count = fences == 1 ? "1 fence" : "\(fences) fences"
    let text = "\(id)".padded(to: 6) + Terminal.clock(atMs: startedUs / 1000).padded(to: 21) + count.padded(to: 14)
    let state = finalizedUs == nil ? "is measured, or was when its program ended" : sending.problem ?? "waits"
    return (text + server + "  " + state).printable
  }
}

extension StoredFence {
  fileprivate var json: JSONValue {
    [
      "number": .number(number), "enteredMs": .number(Int(enteredUs / 1000)),
      "leftMs": JSONValue(exitedUs.map { Int($0 / 1000) }), "latitude": .number(place.latitude),
      "longitude": .number(place.longitude), "radius": .number(radius), "accuracy": JSONValue(place.accuracy),
      "technology": .string(technology.rawValue), "pingMs": JSONValue(mean), "answered": .number(answered),
      "lost": .number(lost), "covered": .bool(!isUncovered),
    ]
  }

  fileprivate var line: String {
    let what = isUncovered ? "no coverage" : mean.map { "\(Amounts.fixed($0, 2)) ms" } ?? "no ping"
    return "\(number)".padded(to: 6) + Terminal.clock(atMs: enteredUs / 1000).padded(to: 21)
      + "\(Amounts.fixed(place.latitude, 6)), \(Amounts.fixed(place.longitude, 6))".padded(to: 25)
      + "\(Amounts.fixed(radius, 0)) m".padded(to: 8) + technology.displayName.padded(to: 13) + what
  }
}
