internal import NIOCore
internal import SpeedTest
internal import Streams

/// Chunks of random bytes, which all connections share.
///
/// Random payload cannot be compressed on the way, and slices of a shared buffer cost no copy. Small chunks are made once
/// for each size, with their markers, so that many go with one buffer; a large one is cut out of the noise, and its marker
/// follows as a buffer of its own.
final class PayloadPool: Sendable {
  private struct Kind: Hashable {
    var size: Int
    /// A Boolean value that indicates whether each chunk has the header of a WebSocket's frame.
    var isFramed: Bool
  }

  private struct Chunks {
    var plain: ByteBuffer
    var last: ByteBuffer
    /// The bytes of a chunk with its header.
    var stride: Int
    var bytes: Int { plain.readableBytes + last.readableBytes }
  }

  static let shared = PayloadPool()

  /// The smallest amount of plain chunks, so that payload does not repeat within the window of a compressor.
  private static let poolSize = 1 << 20
  /// The bytes of cached chunks above which they are made anew.
  private static let cacheLimit = 16 << 20
  /// The size in bytes from which on chunks are large.
  private static let largeSize = 65_536

  private let noise = Lock(ByteBuffer())
  private let markers = (more: ByteBuffer(integer: RMBT.moreMarker), last: ByteBuffer(integer: RMBT.lastMarker))
  private let cache = Lock<[Kind: Chunks]>([:])

  /// Returns at least so many random bytes, the same ones as long as they are enough.
  private func noise(_ count: Int) -> ByteBuffer {
    noise.withLock { noise in
      if noise.readableBytes < count { noise = Self.makeNoise(count) }
      return noise
    }
  }

  private static func makeNoise(_ least: Int) -> ByteBuffer {
    // Whole words.
    let count = (least + 7) / 8 * 8
    var generator = SystemRandomNumberGenerator()
    // A generator of our own in front of the system's: a system call for every eight bytes takes a second.
    var state = generator.next()
    var buffer = ByteBufferAllocator().buffer(capacity: count)
    // The buffer has room for a power of two, which would take memory if it were written.
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
      let words = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]).bindMemory(to: UInt64.self)
      for index in words.indices {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        words[index] = state
      }
      return words.count * 8
    }
    return buffer
  }

  /// Returns the bytes of a payload: buffers to write one after the other.
  /// - Parameters:
  ///   - payload: The chunks.
  ///   - isFramed: `true` to put each chunk into a frame of a WebSocket.
  ///   - turn: A number that changes with every call, which selects the place in the pool.
  func buffers(for payload: Payload, isFramed: Bool, turn: Int) -> [ByteBuffer] {
    if payload.size >= Self.largeSize { return largeChunks(of: payload, isFramed: isFramed, turn: turn) }
    let chunks = chunks(of: Kind(size: payload.size, isFramed: isFramed))
    var buffers: [ByteBuffer] = []
    if payload.count > 0 {
      let places = chunks.plain.readableBytes / chunks.stride - payload.count + 1
      let start = chunks.plain.readerIndex + turn % places * chunks.stride
      buffers += [chunks.plain.getSlice(at: start, length: payload.count * chunks.stride)].compactMap(\.self)
    }
    return payload.endsWithLast ? buffers + [chunks.last] : buffers
  }

  private func largeChunks(of payload: Payload, isFramed: Bool, turn: Int) -> [ByteBuffer] {
    let header = isFramed ? [ByteBuffer(bytes: WebSocket.header(.binary, count: payload.size))] : []
    // As much noise as small chunks have, or little more than one chunk: what stays in the processor's cache.
    let places = max(Self.poolSize - payload.size, 65_536)
    let noise = noise(payload.size + places)
    let total = payload.count + (payload.endsWithLast ? 1 : 0)
    return (0..<total).flatMap { number in
      // A prime number of bytes further each time.
      let start = noise.readerIndex + ((turn + number) % places) * 65_537 % places
      let marker = number < payload.count ? markers.more : markers.last
      return header + [Self.part(of: noise, at: start, length: payload.size - 1), marker]
    }
  }

  private static func part(of noise: ByteBuffer, at index: Int, length: Int) -> ByteBuffer {
    guard let part = noise.getSlice(at: index, length: length) else {
      preconditionFailure("the noise has room for the largest chunk")
    }
    return part
  }

  private func chunks(of kind: Kind) -> Chunks {
    cache.withLock { cache in
      if let chunks = cache[kind] { return chunks }
      if cache.values.reduce(0, { $0 + $1.bytes }) > Self.cacheLimit { cache = [:] }
      let header = kind.isFramed ? WebSocket.header(.binary, count: kind.size) : []
      let stride = header.count + kind.size
      let count = Self.poolSize / stride
      let noise = noise(2 * Self.poolSize)
      // Slices: a change of the whole noise would copy all of it for each size.
      var plain = Self.part(of: noise, at: noise.readerIndex, length: count * stride)
      for number in 0..<count {
        let start = plain.readerIndex + number * stride
        plain.setBytes(header, at: start)
        plain.setInteger(RMBT.moreMarker, at: start + stride - 1)
      }
      var last = Self.part(of: noise, at: noise.writerIndex - stride, length: stride)
      last.setBytes(header, at: last.readerIndex)
      last.setInteger(RMBT.lastMarker, at: last.writerIndex - 1)
      let chunks = Chunks(plain: plain, last: last, stride: stride)
      cache[kind] = chunks
      return chunks
    }
  }
}

/// Writes payload for as long as the socket takes it.
final class PayloadPump {
  enum Outcome {
    /// All payload has been handed over.
    case finished
    /// The socket is full; go on when it is writable.
    case full
    /// Other connections of the same event loop have their turn now.
    case yield
  }

  /// The bytes to write in one turn.
  private static let turnLimit = 1 << 20

  private var turn = 0
  private var isRunning = false

  /// A flush may report at once that the socket is writable again; the run that flushed goes on then by itself.
  func run(_ context: ChannelHandlerContext, isFramed: Bool = false, next: () -> Payload?) -> Outcome {
    guard !isRunning else { return .full }
    isRunning = true
    defer { isRunning = false }
    var written = 0
    while context.channel.isWritable {
      guard written < Self.turnLimit else { return .yield }
      guard let payload = next() else { return .finished }
      turn &+= 1
      for buffer in PayloadPool.shared.buffers(for: payload, isFramed: isFramed, turn: turn & .max) {
        context.write(NIOAny(buffer), promise: nil)
      }
      context.flush()
      written += payload.bytes
    }
    return .full
  }
}
