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
    var buffer = DatagramBuffer(size: Self.bufferLength)
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
  private func drain(_ buffer: inout DatagramBuffer) throws(BtsnoopError) -> [CaptureRecord] {
    var records: [CaptureRecord] = []
    while records.count < Self.burst {
      let packet: ArraySlice<UInt8>?
      do throws(SystemCallError) {
        packet = try descriptor.withNumber { number throws(SystemCallError) in
          try buffer.receive(from: number, flags: Int32(MSG_DONTWAIT))
        }
      } catch {
        if error.errno == EINTR { continue }
        if error.errno == EAGAIN || !records.isEmpty { break }
        throw Self.ended(error.errno)
      }
      guard let packet, !packet.isEmpty else {
        if !records.isEmpty { break }
        throw Self.ended(packet == nil ? EBADF : nil)
      }
      let stamp = buffer.control(SO_TIMESTAMP, as: timeval.self)
      let time = stamp.map { Int64($0.tv_sec) * 1_000_000 + Int64($0.tv_usec) } ?? Self.now
      if let record = Self.record(packet, time) { records.append(record) }
    }
    return records
  }

  private static func ended(_ errno: Int32?) -> BtsnoopError {
    let reason = errno.map { ": \(String(cString: strerror($0)))" } ?? ""
    return BtsnoopError(.noBluetooth, "the kernel's monitor channel ended\(reason)", errno: errno)
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

  private static var now: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }
}
