import Foundation
import SystemTesting

/// The system calls of a sender, as strace has written them, in the parts between its reports.
struct SystemCallTrace {
  /// What a part shows of files, network, random numbers and output, each in order. Threads hand the work to each other
  /// at times of their own, so that only the order within one of the four is meant.
  struct Part: Hashable {
    var files: [String] = []
    var network: [String] = []
    var random: [String] = []
    var output: [String] = []
  }

  /// What strace has to show. Left out are the calls by which threads wait for and wake each other, and by which a process
  /// gets memory: both depend on which thread was free, in a sender of covers as in one of messages.
  static let families = "%file,%desc,%network,getrandom"

  /// The parts, by the outcome of their tick and the server's answers in them.
  private(set) var parts: [String: Set<Part>] = [:]

  /// Reads the files of a trace, one for each thread.
  /// - Parameters:
  ///   - folder: The folder of the files.
  ///   - state: The folder of the sender, which is shown as `STATE`.
  ///   - attempts: The number of answers of the server after which the trace no longer counts.
  init(folder: String, state: String, attempts: Int) throws {
    var calls: [(time: Substring, text: String)] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let text = String(decoding: try Data(contentsOf: URL(filePath: folder + "/" + name)), as: UTF8.self)
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { continue }
        calls.append((words[0], words[1].replacingOccurrences(of: state, with: "STATE")))
      }
    }
    calls.sort { $0.time < $1.time }
    var part = Part()
    var answers: [Substring] = []
    var count = 0
    for (_, call) in calls {
      if let answer = Self.answer(in: call) {
        answers.append(answer)
        count += 1
      }
      add(call, to: &part)
      guard let outcome = Self.outcome(in: call) else { continue }
      let name = ([outcome] + answers).joined(separator: " ")
      // The first part has what the start of a program does.
      parts[parts.isEmpty ? "start, \(name)" : name, default: []].insert(part)
      if count >= attempts { break }
      part = Part()
      answers = []
    }
  }

  /// Waits until strace has written the end of each thread: it is not our child, and may end after the program.
  static func waitForEnd(of folder: String) async throws {
    try await eventually("the end of the trace", within: .seconds(60)) {
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      return try !names.isEmpty
        && names.allSatisfy { try String(contentsOfFile: folder + "/" + $0, encoding: .utf8).hasSuffix(" +++\n") }
    }
  }

  private mutating func add(_ call: String, to part: inout Part) {
    guard let end = call.firstIndex(of: "(") else { return }
    let name = String(call[..<end])
    let result = call.range(of: ") = ", options: .backwards).map { String(call[$0.upperBound...]) } ?? ""
    if name == "getrandom" {
      part.random.append(result)
    } else if call.hasPrefix("write(1<") || call.hasPrefix("write(2<") {
      part.output.append(Self.withoutTimes(call))
    } else if call.contains("<TCP:") || call.contains("<socket:") {
      add(name, result, toNetworkOf: &part)
    } else if call.contains("STATE"), name != "execve" {
      // The command line is the test's.
      part.files.append(Self.withoutChance(call))
    }
  }

  /// Attempts that find nothing yet, and what a thread waits for, depend on when the other end's bytes arrive.
  private mutating func add(_ name: String, _ result: String, toNetworkOf part: inout Part) {
    guard !result.contains("EAGAIN"), !name.hasPrefix("epoll") else { return }
    if name.hasPrefix("write"), let count = Int(result) {
      part.network.append("sent \(count)")
      return
    }
    part.network.append("\(name) \(result.contains("<") ? "" : result)")
  }

  /// The status of the server's answer that a call has read.
  private static func answer(in call: String) -> Substring? {
    guard call.hasPrefix("read(") || call.hasPrefix("recv"), call.contains("<TCP:"),
      let line = call.range(of: "\"HTTP/1.1 ")
    else { return nil }
    return call[line.upperBound...].prefix(3)
  }

  /// The outcome that a call has reported.
  private static func outcome(in call: String) -> Substring? {
    guard call.hasPrefix("write(1<"), let field = call.range(of: #"\"outcome\":\""#) else { return nil }
    return call[field.upperBound...].prefix { $0 != "\\" }
  }

  /// The call without what is random in each: the contents of files, and the numbers of descriptors.
  private static func withoutChance(_ call: String) -> String {
    var text = call
    let isData = ["read", "write", "pread64", "pwrite64"].contains(String(call.prefix { $0 != "(" }))
    if isData, let start = text.firstIndex(of: "\""), let end = text.lastIndex(of: "\"") {
      text.replaceSubrange(start...end, with: "DATA")
      text = text.replacingOccurrences(of: "DATA...", with: "DATA")
    }
    var rest = ""
    for character in text {
      if character == "<" { while let last = rest.last, last.isNumber { rest.removeLast() } }
      rest.append(character)
    }
    return rest
  }

  /// A line of output without its time, and without the number of the pipe that it goes to.
  private static func withoutTimes(_ call: String) -> String {
    guard let start = call.firstIndex(of: "\"") else { return call }
    let digits = call[start...].map { $0.isNumber ? "0" : $0 }
    return call.prefix(7) + String(digits)
  }
}
