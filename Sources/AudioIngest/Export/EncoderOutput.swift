internal import DurableFiles

/// The file that a library for compression writes to, and the context of the callbacks with which it does.
///
/// No error leaves a callback: it is kept here, and the caller of the library throws it.
class EncoderOutput {
  let file: GrowingFile
  /// The first error of the file.
  private(set) var error: AudioIngestError?

  init(_ file: GrowingFile) { self.file = file }

  /// Returns the output that a callback was given.
  static func of(_ context: UnsafeMutableRawPointer?) -> Self {
    Unmanaged<Self>.fromOpaque(context!).takeUnretainedValue()
  }

  /// Writes bytes at the end of the file.
  /// - Returns: `false` if they are not in the file; ``error`` has the reason.
  func append(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    do throws(AudioIngestError) {
      try storage(file.append(Array(bytes)))
      return true
    } catch {
      self.error = self.error ?? error
      return false
    }
  }
}
