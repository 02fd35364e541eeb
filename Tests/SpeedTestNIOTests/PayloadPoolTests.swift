import NIOCore
import Testing

@testable import SpeedTest
@testable import SpeedTestNIO

@Suite("Payload") struct PayloadPoolTests {
  @Test(
    "Chunks of a size take no more memory than what they are cut from", arguments: [4096, 65_536, 1 << 20, 1 << 22])
  func memory(size: Int) {
    let pool = PayloadPool()
    for isFramed in [false, true] {
      let buffers = pool.buffers(for: Payload(size: size, count: 1, endsWithLast: true), isFramed: isFramed, turn: 1)
      #expect(buffers.count == 2)
      // A buffer's room is a power of two.
      #expect(buffers.map(\.storageCapacity).reduce(0, +) <= 2 * (max(1 << 20, size + 16) + size + 16))
    }
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
