import NIOCore
import Testing

@testable import SpeedTest
@testable import SpeedTestNIO

@Suite("Payload") struct PayloadPoolTests {
  @Test("Small chunks of a size take no more memory than what they are cut from", arguments: [4096, 65_535])
  func memory(size: Int) {
    let pool = PayloadPool()
    for isFramed in [false, true] {
      let buffers = pool.buffers(for: Payload(size: size, count: 1, endsWithLast: true), isFramed: isFramed, turn: 1)
      #expect(buffers.count == 2)
      // A buffer's room is a power of two.
      #expect(buffers.map(\.storageCapacity).reduce(0, +) <= 2 * (1 << 20 + size + 16))
    }
  }

  @Test("Large chunks are cut out of the same noise at other places", arguments: [65_536, 1 << 20, 1 << 22])
  func largeChunks(size: Int) {
    let pool = PayloadPool()
    var starts = Set<[UInt8]>()
    for turn in 1...100 {
      let plain = pool.buffers(for: Payload(size: size, count: 1, endsWithLast: true), isFramed: false, turn: turn)
      #expect(plain.map(\.readableBytes) == [size - 1, 1, size - 1, 1])
      #expect(plain[1].getInteger(at: plain[1].readerIndex) == RMBT.moreMarker)
      #expect(plain[3].getInteger(at: plain[3].readerIndex) == RMBT.lastMarker)
      #expect(plain[0].storageCapacity == plain[2].storageCapacity)
      starts.insert(plain[0].getBytes(at: plain[0].readerIndex, length: 32) ?? [])
    }
    #expect(starts.count == 100)
    let framed = pool.buffers(for: Payload(size: size, count: 1, endsWithLast: false), isFramed: true, turn: .max - 1)
    #expect(framed.map(\.readableBytes) == [WebSocket.header(.binary, count: size).count, size - 1, 1])
  }

  @Test("Chunks have their markers, and their headers in a WebSocket") func markers() {
    let pool = PayloadPool()
    let buffers = pool.buffers(for: Payload(size: 4096, count: 3, endsWithLast: true), isFramed: false, turn: 7)
    #expect(buffers.map(\.readableBytes) == [3 * 4096, 4096])
    for end in [4095, 8191, 12_287] {
      #expect(buffers[0].getInteger(at: buffers[0].readerIndex + end) == RMBT.moreMarker)
    }
    #expect(buffers[1].getInteger(at: buffers[1].writerIndex - 1) == RMBT.lastMarker)
    let framed = pool.buffers(for: Payload(size: 4096, count: 1, endsWithLast: false), isFramed: true, turn: 7)
    let header = WebSocket.header(.binary, count: 4096)
    #expect(framed[0].getBytes(at: framed[0].readerIndex, length: header.count) == header)
    #expect(framed[0].readableBytes == header.count + 4096)
  }
}
