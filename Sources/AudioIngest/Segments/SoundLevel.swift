import Glibc

/// How loud samples are.
public struct SoundLevel: Sendable, Hashable {
  private var sum = 0
  private var count = 0
  private var loudest = 0

  /// Nothing was heard yet.
  public init() {}

  /// Takes more samples.
  public mutating func add(_ samples: UnsafeBufferPointer<Int16>) {
    var (sum, loudest) = (0, loudest)
    for sample in samples {
      let value = Int(sample)
      sum += value * value
      loudest = max(loudest, abs(value))
    }
    self.sum += sum
    self.loudest = loudest
    count += samples.count
  }

  /// The root of the mean square, from 0 to 1; 0 for nothing.
  public var amplitude: Double { count > 0 ? (Double(sum) / Double(count)).squareRoot() / 32_768 : 0 }

  /// The root of the mean square, in dB of full scale; −120 at least.
  public var rms: Double { Self.decibels(amplitude) }

  /// The loudest sample, in dB of full scale; −120 at least.
  public var peak: Double { Self.decibels(Double(loudest) / 32_768) }

  /// An amplitude from 0 to 1 in dB of full scale; −120 at least.
  public static func decibels(_ amplitude: Double) -> Double { max(20 * log10(max(amplitude, 1e-6)), -120) }
  static func amplitude(ofDecibels decibels: Double) -> Double { pow(10, decibels / 20) }
}
