// Measures, stores and sends coverage from a process of its own, for benchmarks, and for tests of kills.
//
//   coverage-process process STORE             4 hours of pings and locations; prints the CPU seconds and the peak in MiB
//   coverage-process live STORE PORT SECONDS   a run with a responder; prints the CPU seconds, and the pings with a reply
//   coverage-process ping PORT COUNT US        prints the round trips of pings so many microseconds apart, in nanoseconds
//   coverage-process page STORE FILE [FOLDER]  the stored fences as a page, with Leaflet of a folder; prints the seconds
//   coverage-process start STORE               a run until its first request; prints the seconds, and those of a pass
//                                              over the stored sessions
//   coverage-process create STORE              creates a store
//   coverage-process measure STORE RUN FIRST COUNT   stores fences from a number on, in two sessions; prints "stored NUMBER" after
//                                              each
//   coverage-process send STORE SERVER         sends to a server that is a folder; prints "sent COUNT"

import Glibc

let words = Array(CommandLine.arguments.dropFirst())
let numbers = words.dropFirst(2).compactMap(Int.init)
do {
  switch (words.first, words.count) {
  case ("process", 2): try Processing.run(words[1])
  case ("live", 4) where numbers.count == 2: try await Live.run(words[1], port: numbers[0], seconds: numbers[1])
  case ("ping", 4) where numbers.count == 2:
    try await Pinging.run(port: Int(words[1]) ?? 0, count: numbers[0], pause: .microseconds(numbers[1]))
  case ("page", 3), ("page", 4): try Page.run(words[1], to: words[2], leaflet: words.dropFirst(3).first)
  case ("start", 2): try await Start.run(words[1])
  case ("create", 2): try Start.create(words[1])
  case ("measure", 5) where numbers.count >= 2:
    try Measuring.run(words[1], id: words[2], from: numbers[numbers.count - 2], count: numbers[numbers.count - 1])
  case ("send", 3): try await Sending.run(words[1], to: words[2])
  default: exit(64)
  }
} catch {
  print("error \(error)")
  exit(1)
}
