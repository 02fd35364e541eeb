internal import Foundation
internal import SystemTesting

/// A program that reads WAV files.
package enum WAVReader: String, CaseIterable {
  /// The only one that reports a truncated file.
  case mediainfo
  case ffprobe
  case sox

  /// The report of a program that does not accept a file.
  package struct Refusal: Error, CustomStringConvertible {
    package let description: String
  }

  package var isInstalled: Bool { ChildProcess.path(of: rawValue) != nil }
  package static let allAreInstalled = allCases.allSatisfy(\.isInstalled)
  package static let allNeeded = "needs mediainfo, ffprobe and sox"

  private var arguments: [String] {
    switch self {
    case .mediainfo:
      ["--Inform=Audio;%Format%/%SamplingRate%/%Channels%/%BitDepth%/%SamplingCount%/%IsTruncated%/"]
    case .ffprobe:
      ["-v", "error", "-show_entries", "stream=codec_name,sample_rate,channels,duration", "-of", "csv=p=0"]
    case .sox: ["--info", "-s"]
    }
  }

  /// Returns the output for a complete file of 16 bits, one channel, 16 kHz.
  private func words(samples: Int) -> String {
    switch self {
    case .mediainfo: "PCM/16000/1/16/\(samples)//"
    case .ffprobe: "pcm_s16le,16000,1," + String(format: "%.6f", Double(samples) / 16_000)
    case .sox: "\(samples)"
    }
  }

  /// Reads a file of 16 bits, one channel, 16 kHz.
  /// - Throws: ``Refusal`` if the program does not find that many samples.
  package func accepts(_ path: String, samples: Int) async throws {
    let outcome = try await ChildProcess(rawValue, arguments + [path], errors: .kept).outcome()
    let said = outcome.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    guard outcome.status == 0, said == words(samples: samples) else {
      throw Refusal(description: "\(rawValue): \(said) \(outcome.errors)")
    }
  }
}
