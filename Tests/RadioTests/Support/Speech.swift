import Foundation
import SystemTesting
import Testing

/// The speech that a wearable records.
enum Speech {
  static let isThere = ["espeak-ng", "sox"].allSatisfy { ChildProcess.path(of: $0) != nil }
  static let needed: Comment = "needs espeak-ng and sox"

  /// Some five seconds: 16 bit, one channel, 16 kHz.
  static func sound() throws -> Data {
    let text = "The recorder was worn all day, and nothing that was said was lost or made up. "
    let command = "espeak-ng --stdout '\(text)' | sox -t wav - -t raw -r 16000 -e signed -b 16 -c 1 -"
    let process = try ChildProcess("sh", ["-c", command], errors: .discarded)
    var sound = Data()
    while case let bytes = read(process.output), !bytes.isEmpty { sound += bytes }
    try #require(process.wait() == 0)
    try #require(sound.count > 3 * 32_000)
    return sound
  }
}
