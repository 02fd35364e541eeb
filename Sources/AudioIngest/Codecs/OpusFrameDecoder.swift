internal import COpus

/// A decoder for Opus, by libopus, which also conceals missing frames.
final class OpusFrameDecoder: FrameDecoder {
  /// The longest duration of a packet: 120 ms (RFC 6716, 3.2.5).
  private static let longestMilliseconds = 120
  /// The largest number of bytes that libopus produces for 120 ms.
  private static let longestPacket = 7680

  private let state: OpaquePointer
  private let scratch: UnsafeMutableBufferPointer<Int16>
  /// The number of samples in the last frame: concealment comes in frames of this length.
  private var frameSamples: Int
  private let sampleRate: Int

  /// Creates a decoder of one channel.
  /// - Parameters:
  ///   - sampleRate: 8000, 12000, 16000, 24000 or 48000 samples a second.
  ///   - usualSamples: The number of samples in a frame until the first one has been decoded.
  /// - Throws: ``AudioIngestError`` with code `.codecFailed` for another rate, or when memory is exhausted.
  init(sampleRate: Int, usualSamples: Int) throws(AudioIngestError) {
    var error: Int32 = 0
    guard let made = opus_decoder_create(opus_int32(clamping: sampleRate), 1, &error), error == OPUS_OK else {
      throw AudioIngestError(.codecFailed, "creating an Opus decoder for \(sampleRate) Hz: \(Self.text(error))")
    }
    state = made
    scratch = .allocate(capacity: sampleRate / 1000 * Self.longestMilliseconds)
    frameSamples = max(usualSamples, sampleRate / 400)
    self.sampleRate = sampleRate
  }

  deinit {
    opus_decoder_destroy(state)
    scratch.deallocate()
  }

  /// Returns the number of samples in a packet by its header; `nil` for a damaged packet.
  static func samples(in frame: ArraySlice<UInt8>, sampleRate: Int) -> Int? {
    guard !frame.isEmpty, frame.count <= longestPacket else { return nil }
    let count = frame.withUnsafeBufferPointer {
      opus_packet_get_nb_samples($0.baseAddress!, opus_int32($0.count), opus_int32(clamping: sampleRate))
    }
    return count > 0 ? Int(count) : nil
  }

  func decode(_ frame: ArraySlice<UInt8>, into samples: inout [Int16]) throws(AudioIngestError) {
    // libopus treats an empty frame as a lost one.
    guard !frame.isEmpty, frame.count <= Self.longestPacket else {
      throw AudioIngestError(
        .damagedFrame, "the Opus frame has \(frame.count) bytes; allowed: 1 to \(Self.longestPacket)")
    }
    let count = frame.withUnsafeBufferPointer {
      opus_decode(state, $0.baseAddress, opus_int32($0.count), scratch.baseAddress!, Int32(scratch.count), 0)
    }
    guard count > 0 else { throw AudioIngestError(.damagedFrame, "decoding an Opus frame: \(Self.text(count))") }
    frameSamples = Int(count)
    samples.append(contentsOf: UnsafeBufferPointer(rebasing: scratch[..<frameSamples]))
  }

  func conceal(_ count: Int, into samples: inout [Int16]) {
    var missing = count
    while missing > 0 {
      // libopus conceals multiples of 2.5 ms; only a part of the last one may be needed.
      let made = opus_decode(state, nil, 0, scratch.baseAddress!, Int32(frameSamples), 0)
      guard made > 0 else { break }
      let used = min(Int(made), missing)
      samples.append(contentsOf: UnsafeBufferPointer(rebasing: scratch[..<used]))
      missing -= used
    }
    samples.append(contentsOf: repeatElement(0, count: max(missing, 0)))
  }

  func reset() { _ = edgeblue_opus_decoder_reset(state) }

  private static func text(_ error: Int32) -> String { String(cString: opus_strerror(error)) }
}
