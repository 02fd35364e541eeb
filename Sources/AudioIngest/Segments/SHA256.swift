internal import COpenSSL

/// SHA-256 (FIPS 180-4), by OpenSSL.
final class SHA256 {
  private let context = EVP_MD_CTX_new()

  init() { EVP_DigestInit_ex(context, EVP_sha256(), nil) }

  deinit { EVP_MD_CTX_free(context) }

  func add(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

  /// The sum of all that was added, in hexadecimal; nothing can be added afterwards.
  func finish() -> String {
    var sum = [UInt8](repeating: 0, count: 32)
    EVP_DigestFinal_ex(context, &sum, nil)
    return sum.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
