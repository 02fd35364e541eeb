// How fast the object scanner reads, and whether its cost grows with the message: objects of 1 KiB to 1 MiB in pieces
// of 512 bytes, as they come over the air. Ends with 1 when 1 MiB costs more than twice as much per byte as 1 KiB.
import EdgeCoder
import Glibc

let sizes = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20]
let rounds = 9
let bytesPerRound = 16 << 20

func message(_ bytes: Int) -> [UInt8] {
  let head = Array(#"{"id":"0","ok":true,"durationMs":1,"output":""#.utf8)
  let unit = Array(#"Some text, a \"quote\", a \\ and an é. "#.utf8)
  var message = head
  while message.count + unit.count + 2 <= bytes { message += unit }
  message += Array(repeating: UInt8(ascii: "."), count: bytes - message.count - 2)
  return message + Array("\"}".utf8)
}

func pieces(of message: [UInt8]) -> [[UInt8]] {
  stride(from: 0, to: message.count, by: 512).map { Array(message[$0..<min($0 + 512, message.count)]) }
}

let inputs = sizes.map { pieces(of: message($0)) }
var rates: [[Double]] = sizes.map { _ in [] }
let clock = ContinuousClock()
// The sizes take turns, so that a slow minute of the machine hits all of them.
for round in 0...rounds {
  for (index, size) in sizes.enumerated() {
    let repeats = bytesPerRound / size
    var scanner = JSONObjectScanner(sizeLimit: 2 << 20)
    var found = 0
    let elapsed = clock.measure {
      for _ in 0..<repeats {
        for piece in inputs[index] {
          for case .object in scanner.receive(piece, at: .zero) { found += 1 }
        }
      }
    }
    precondition(found == repeats, "\(found) objects of \(repeats)")
    // The first round warms up.
    if round > 0 { rates[index].append(Double(repeats * size) / 1e6 / (elapsed / .seconds(1))) }
  }
}

func text(_ value: Double) -> String { "\(Int(value.rounded()))" }
print("| object | MB/s median | min | max |\n|---|---|---|---|")
for (size, rate) in zip(sizes, rates) {
  let sorted = rate.sorted()
  print(
    "| \(size >> 10) KiB | \(text(sorted[sorted.count / 2])) | \(text(sorted[0])) | \(text(sorted[sorted.count - 1])) |"
  )
}
// Round by round, so that the machine's own speed cancels out.
let ratios = zip(rates[0], rates[rates.count - 1]).map { $0 / $1 }.sorted()
let ratio = ratios[ratios.count / 2]
func hundredths(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
print(
  "cost per byte, 1 MiB against 1 KiB: \(hundredths(ratio)) "
    + "(\(hundredths(ratios[0]))–\(hundredths(ratios[ratios.count - 1]))); bar 2: \(ratio <= 2 ? "met" : "MISSED")")
if ratio > 2 { exit(1) }
