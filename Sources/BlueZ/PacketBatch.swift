import Glibc

/// Room for the packets that are read from a socket in one turn.
final class PacketBatch {
  /// How many packets of one socket are read before the others get their turn.
  static let limit = 64
  /// Longer packets would be cut off; an attribute value has at most 512 bytes.
  private static let longest = 1024

  private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: limit * longest, alignment: 16)
  private var sizes: [Int] = []

  /// How many packets there are.
  var count: Int { sizes.count }
  deinit {
    bytes.deallocate()
  }

  func clear() { sizes.removeAll(keepingCapacity: true) }

  /// Takes what is there, and does not wait.
  /// - Returns: whether the other end is gone and everything it had sent is here, or the socket has failed.
  func read(from number: Int32) -> Bool {
    while count < Self.limit {
      let size = recv(number, bytes.baseAddress.map { $0 + count * Self.longest }, Self.longest, Int32(MSG_DONTWAIT))
      if size < 0, errno == EINTR { continue }
      if size < 0 { return errno != EAGAIN }
      // An empty packet is an empty value. So looks the end too, but then the other end has hung up.
      if size == 0, Self.hasHungUp(number) { return true }
      sizes.append(size)
    }
    return false
  }

  subscript(index: Int) -> [UInt8] {
    let start = index * Self.longest
    return [UInt8](UnsafeRawBufferPointer(rebasing: bytes[start..<start + sizes[index]]))
  }

  private static func hasHungUp(_ number: Int32) -> Bool {
    var polled = pollfd(fd: number, events: 0, revents: 0)
    return poll(&polled, 1, 0) > 0 && Int32(polled.revents) & POLLHUP != 0
  }
}
