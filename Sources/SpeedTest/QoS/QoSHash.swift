internal import Crypto

/// The MD5 hash of a file that arrives in pieces, by which control servers recognise it; it protects nothing.
package struct QoSHash {
  private var hash = Insecure.MD5()

  /// Creates the hash of no bytes.
  package init() {}

  /// Adds a piece.
  package mutating func add(_ bytes: UnsafeRawBufferPointer) { hash.update(bufferPointer: bytes) }

  /// The hash of all pieces in 32 lower-case digits.
  package var text: String {
    hash.finalize().map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }
}
