import Foundation

/// The system calls of a sender, as strace has written them, in the parts between its reports.
struct SystemCallTrace {
  /// What a part shows of disk, network, random numbers and output, each in order. Threads hand the work to each other
  /// at times of their own, so that only the order within one of the four is meant.
  struct Part: Hashable {
    var disk: [String] = []
    var network: [String] = []
    var random: [String] = []
    var output: [String] = []
  }

  /// The parts, by the outcome of their tick and the server's answers in them.
  private(set) var parts: [String: Set<Part>] = [:]
  /// The numbers of bytes of all writes to the network.
  private(set) var packets: [Int] = []

  /// Reads the files of a trace, one for each thread.
  init(folder: String, state: String) throws {
    var calls: [(time: Double, text: String)] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let text = String(decoding: try Data(contentsOf: URL(filePath: folder + "/" + name)), as: UTF8.self)
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let time = Double(words[0]) else { continue }
        calls.append((time, String(words[1]).replacing(state, with: "STATE")))
      }
    }
    calls.sort { $0.time < $1.time }
    var part = Part()
    var answers: [Substring] = []
    for (_, call) in calls {
      if let answer = call.firstMatch(of: #/^read\(.*<TCP:.*"HTTP/1.1 ([0-9]+)/#) { answers.append(answer.1) }
      add(call, to: &part)
      guard let report = call.firstMatch(of: #/^write\(1<.*\\"outcome\\":\\"([a-z_]+)\\"/#) else { continue }
      let outcome = ([report.1] + answers).joined(separator: " ")
      // The first part has what the start of a program does.
      parts[parts.isEmpty ? "start, \(outcome)" : outcome, default: []].insert(part)
      part = Part()
      answers = []
    }
  }

  private mutating func add(_ call: String, to part: inout Part) {
    guard let name = call.split(separator: "(").first else { return }
    let result = call.range(of: ") = ", options: .backwards).map { call[$0.upperBound...] } ?? ""
    if name == "getrandom" {
      part.random.append(String(result))
    } else if call.hasPrefix("write(1<") || call.hasPrefix("write(2<") {
      part.output.append(
        call.replacing(#/[0-9]{4}-[0-9T:.-]+Z/#, with: "TIME").replacing(#/pipe:\[[0-9]+\]/#, with: "pipe"))
    } else if call.contains("<TCP:") || name == "connect" {
      if name.hasPrefix("write") || name.hasPrefix("send"), let count = Int(result) { packets.append(count) }
      if !["epoll_ctl", "getsockname", "getpeername"].contains(name), !result.contains("EAGAIN") {
        part.network.append("\(name) \(result.contains("<") ? "" : result)")
      }
    } else if call.contains("STATE") {
      let isData = ["read", "write", "pread64", "pwrite64"].contains(name)
      let arguments = isData ? call.replacing(#/".*"(\.\.\.)?/#, with: "DATA") : call
      part.disk.append(arguments.replacing(#/[0-9]+</#, with: "<"))
    }
  }

  /// A fault that a sender may have, as its observer would see it.
  enum Leak: CaseIterable {
    case flushAfterWriting, freshCoverForRetry, longerBody
  }

  /// Adds a leak to the trace.
  mutating func plant(_ leak: Leak) {
    switch leak {
    case .flushAfterWriting:
      // A tick that should have done nothing sends.
      guard let done = parts["done 200 200"]?.first, let skipped = parts["skipped"]?.first else { return }
      var flushed = skipped
      flushed.network = done.network
      flushed.random = done.random
      parts["skipped"]?.insert(flushed)
    case .longerBody: packets = packets.map { $0 + 1 }
    // The bodies show it, which the server has.
    case .freshCoverForRetry: break
    }
  }
}
