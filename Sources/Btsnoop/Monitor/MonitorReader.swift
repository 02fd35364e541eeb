import Glibc
import Streams

/// The loop of the thread that reads the monitor channel.
struct MonitorReader: Sendable {
  let descriptor: FileDescriptor
  let wakeUp: WakeUp
  let onRecords: @Sendable ([CaptureRecord]) -> Void
  let onEnd: @Sendable (BtsnoopError?) -> Void

  /// The number of records that are handed over at once.
  private static let burst = 256
  /// More than the longest packet, and the six bytes before it.
  private static let bufferLength = 70_000

  func run() {
    // Where it is permitted: a reader that is scheduled too late loses packets. On Linux this priority is the thread's.
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, -10)
    var buffer = [UInt8](repeating: 0, count: Self.bufferLength)
    while true {
      guard let number = descriptor.withNumber({ $0 }) else { return onEnd(nil) }
      var polled = [wakeUp.descriptor, number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&polled, 2, -1) > 0 else { continue }
      let isStopped = polled[0].revents != 0
      do throws(BtsnoopError) {
        repeat {
          let records = try drain(&buffer)
          if !records.isEmpty { onRecords(records) }
          guard records.count == Self.burst else { break }
        } while true
      } catch {
        descriptor.close()
        return onEnd(isStopped ? nil : error)
      }
      if isStopped {
        descriptor.close()
        return onEnd(nil)
      }
    }
  }

  /// Reads what is there, up to a number of records.
  private func drain(_ buffer: inout [UInt8]) throws(BtsnoopError) -> [CaptureRecord] {
    var records: [CaptureRecord] = []
    while records.count < Self.burst {
      let (count, failure, time) = receive(&buffer)
      if count < 0, failure == EINTR { continue }
      if count < 0, failure == EAGAIN { break }
      guard count > 0 else {
        if !records.isEmpty { break }
        throw BtsnoopError(
          .noBluetooth, "the kernel's monitor channel ended: \(String(cString: strerror(failure)))",
          errno: count < 0 ? failure : nil)
      }
      if let record = Self.record(buffer[..<count], time) { records.append(record) }
    }
    return records
  }

  /// struct hci_mon_hdr (include/net/bluetooth/hci_mon.h): kind, adapter and length before the content.
  static func record(_ packet: ArraySlice<UInt8>, _ time: Int64) -> CaptureRecord? {
    var fields = ByteReader(packet)
    guard let kind = fields.uint16(), let adapter = fields.uint16(), let length = fields.uint16() else { return nil }
    let content = fields.all().prefix(Int(length))
    return CaptureRecord(
      time: time, adapter: adapter, kind: CaptureRecord.Kind(rawValue: kind), bytes: Array(content),
      originalLength: Int(length))
  }

  /// Receives one packet with the kernel's time of it.
  private func receive(_ buffer: inout [UInt8]) -> (count: Int, failure: Int32, time: Int64) {
    var control = [UInt64](repeating: 0, count: 16)
    var header = msghdr()
    let result: (Int, Int32)? = descriptor.withNumber { number in
      buffer.withUnsafeMutableBytes { bytes in
        control.withUnsafeMutableBytes { control in
          var piece = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
          return withUnsafeMutablePointer(to: &piece) { piece in
            header.msg_iov = piece
            header.msg_iovlen = 1
            header.msg_control = control.baseAddress
            header.msg_controllen = numericCast(control.count)
            return (recvmsg(number, &header, Int32(MSG_DONTWAIT)), errno)
          }
        }
      }
    }
    guard let (count, failure) = result else { return (-1, EBADF, 0) }
    let length = Int(header.msg_controllen)
    return (count, failure, control.withUnsafeBytes { Self.time($0.prefix(length)) } ?? Self.now)
  }

  /// Finds the time in the first control message, which is the only one.
  private static func time(_ control: Slice<UnsafeRawBufferPointer>) -> Int64? {
    let bytes = UnsafeRawBufferPointer(rebasing: control)
    let start = (MemoryLayout<cmsghdr>.size + MemoryLayout<Int>.size - 1) & ~(MemoryLayout<Int>.size - 1)
    guard bytes.count >= start + MemoryLayout<timeval>.size else { return nil }
    let header = bytes.loadUnaligned(as: cmsghdr.self)
    guard header.cmsg_level == SOL_SOCKET, header.cmsg_type == SO_TIMESTAMP else { return nil }
    let time = bytes.loadUnaligned(fromByteOffset: start, as: timeval.self)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_usec)
  }

  private static var now: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }
}
