internal import Glibc

/// A buffer for one datagram after the other, with the control messages that the kernel adds to each.
package struct DatagramBuffer: Sendable {
  private var bytes: [UInt8]
  private var controls: [UInt8]
  private var controlCount = 0

  /// The control messages of the newest datagram, each a `cmsghdr` with its data.
  package var control: ArraySlice<UInt8> { controls[..<controlCount] }

  /// Creates a buffer.
  /// - Parameters:
  ///   - size: The largest number of bytes that are taken of a datagram; the rest is lost.
  ///   - controlSize: The largest number of bytes of control messages.
  package init(size: Int, controlSize: Int = 128) {
    bytes = [UInt8](repeating: 0, count: size)
    controls = [UInt8](repeating: 0, count: controlSize)
  }

  /// Receives a datagram.
  /// - Parameters:
  ///   - number: The descriptor of the socket.
  ///   - flags: The flags of `recvmsg`.
  /// - Throws: ``SystemCallError``, with `EAGAIN` if none has arrived.
  package mutating func receive(from number: Int32, flags: Int32 = 0) throws(SystemCallError) -> ArraySlice<UInt8> {
    var header = msghdr()
    var failure: SystemCallError?
    let count = bytes.withUnsafeMutableBytes { bytes in
      controls.withUnsafeMutableBytes { controls in
        var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        return withUnsafeMutablePointer(to: &part) { part in
          header.msg_iov = part
          header.msg_iovlen = 1
          header.msg_control = controls.baseAddress
          header.msg_controllen = numericCast(controls.count)
          let count = recvmsg(number, &header, flags)
          if count < 0 { failure = SystemCallError("recvmsg") }
          return count
        }
      }
    }
    if let failure { throw failure }
    controlCount = Int(header.msg_controllen)
    return bytes[..<count]
  }

  /// Returns the data of the first control message of the newest datagram, for sockets that asked for one kind.
  /// - Returns: `nil` for a message of another kind, or one that is shorter than its data.
  package func control<Data: BitwiseCopyable>(_ type: Int32, as data: Data.Type) -> Data? {
    // The header ends where its data may begin.
    let start = MemoryLayout<cmsghdr>.size
    guard controlCount >= start + MemoryLayout<Data>.size else { return nil }
    return controls.withUnsafeBytes { bytes in
      let header = bytes.loadUnaligned(as: cmsghdr.self)
      guard header.cmsg_level == SOL_SOCKET, header.cmsg_type == type else { return nil }
      return bytes.loadUnaligned(fromByteOffset: start, as: data)
    }
  }
}
