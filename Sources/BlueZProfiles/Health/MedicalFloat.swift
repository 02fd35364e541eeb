/// A decimal number of medical devices (IEEE 11073-20601): a mantissa and a power of ten.
///
/// ```swift
/// let degrees = try MedicalFloat<UInt32>(36.6, decimals: 1)
/// print(degrees.value, degrees.bits == 0xff00_016e)  // 36.6 true
/// ```
///
/// Of 32 bits, the mantissa has 24; of 16 bits, it has 12. Five numbers without a power stand for "not a number", "not at
/// this resolution", the two infinities, and a reserved one.
public struct MedicalFloat<Bits: MedicalFloatBits>: Sendable, Hashable {
  /// The number as it is sent.
  public let bits: Bits

  /// Creates a number from its bits.
  public init(bits: Bits) { self.bits = bits }

  /// Creates a number with so many digits behind the point.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` when the digits do not fit into the mantissa, or the
  ///   decimals into the power: 0 to 8 for 16 bits, 0 to 127 for 32.
  public init(_ value: Double, decimals: Int) throws(ProfileError) {
    let powers = 1 << (Self.powerBits - 1)
    let last = (1 << (Self.mantissaBits - 1)) - 1
    guard 0...min(powers, 127) ~= decimals else {
      throw ProfileError(.invalidArgument, "\(decimals) digits behind the point cannot be sent")
    }
    var mantissa = value
    for _ in 0..<decimals { mantissa *= 10 }
    mantissa = mantissa.rounded()
    // The two largest numbers, and the three smallest, have a meaning of their own.
    guard abs(mantissa) <= Double(last - 2) else {
      throw ProfileError(.invalidArgument, "\(value) with \(decimals) digits behind the point cannot be sent")
    }
    bits = Bits(truncatingIfNeeded: -decimals << Self.mantissaBits | Int(mantissa) & ((1 << Self.mantissaBits) - 1))
  }

  /// The number; not a number where the device has none, and infinite where its range ends.
  public var value: Double {
    let all = Int(bits)
    let limit = 1 << (Self.mantissaBits - 1)
    let unsigned = all & (2 * limit - 1)
    switch unsigned {
    case limit - 1, limit, limit + 1: return .nan
    case limit - 2: return .infinity
    case limit + 2: return -.infinity
    default: break
    }
    let mantissa = unsigned >= limit ? unsigned - 2 * limit : unsigned
    let power = all >> Self.mantissaBits
    let signed = power >= 1 << (Self.powerBits - 1) ? power - (1 << Self.powerBits) : power
    return Self.scaled(Double(mantissa), by: signed)
  }

  private static var mantissaBits: Int { Bits.bitWidth == 32 ? 24 : 12 }
  private static var powerBits: Int { Bits.bitWidth - mantissaBits }

  private static func scaled(_ mantissa: Double, by power: Int) -> Double {
    let factor = (0..<abs(power)).reduce(1.0) { factor, _ in factor * 10 }
    return power < 0 ? mantissa / factor : mantissa * factor
  }
}

/// The two sizes of a ``MedicalFloat``.
public protocol MedicalFloatBits: FixedWidthInteger, UnsignedInteger, Sendable {}
extension UInt16: MedicalFloatBits {}
extension UInt32: MedicalFloatBits {}
