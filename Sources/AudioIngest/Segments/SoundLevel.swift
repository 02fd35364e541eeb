import Glibc

/// The loudness of a number of samples: their root mean square, and the loudest of them.
///
/// ```swift
/// var level = SoundLevel()
/// ([0, 16_384, -16_384] as [Int16]).withUnsafeBufferPointer { level.add($0) }
/// print(level.peak)  // −6 dBFS
/// ```
public struct SoundLevel: Sendable, Hashable {
  /// The sum of the squares of the samples.
  private(set) var sum = 0
  private var count = 0
  private var loudest = 0

  /// Creates the level of no samples.
  public init() {}

  /// Includes more samples in the level.
  public mutating func add(_ samples: UnsafeBufferPointer<Int16>) {
    // Local copies stay in registers.
    var sum = sum
    var loudest = loudest
    for sample in samples {
      let value = Int(sample)
      sum += value * value
      loudest = max(loudest, abs(value))
    }
    self.sum = sum
    self.loudest = loudest
    count += samples.count
  }

  /// The root mean square as an amplitude, 0…1; 0 for no samples.
  public var amplitude: Double { count > 0 ? (Double(sum) / Double(count)).squareRoot() / 32_768 : 0 }

  /// The root mean square in dBFS, −120…0.
  public var rms: Double { Self.decibels(amplitude) }

  /// The loudest sample in dBFS, −120…0.
  public var peak: Double { Self.decibels(Double(loudest) / 32_768) }

  /// Returns an amplitude of 0…1 in dBFS, at least −120.
  public static func decibels(_ amplitude: Double) -> Double { max(20 * log10(max(amplitude, 1e-6)), -120) }
  static func amplitude(ofDecibels decibels: Double) -> Double { pow(10, decibels / 20) }
}
