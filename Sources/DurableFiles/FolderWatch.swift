internal import Glibc
package import Streams

/// A watch on the files of a folder, by inotify: it reports that one of them may have changed.
///
/// Several changes may be one report. What was changed before the watch began is not reported, so that a reader watches
/// first and reads then.
package final class FolderWatch: Sendable {
  /// The reports; they end with the watch, and when the folder is removed or renamed.
  package let changes: BoundedStream<Void>
  private let wake: WakeUp

  /// Begins to watch.
  /// - Parameters:
  ///   - path: The folder, which exists.
  ///   - names: The names of the files, whether they exist or not.
  ///   - reportsWrites: `true` if each write is reported, also while its writer has the file open; otherwise its closing.
  /// - Throws: ``FileError`` if the folder cannot be watched, or the user has no watch left.
  package init(path: String, names: Set<String>, reportsWrites: Bool = false) throws(FileError) {
    let operation = "watching \(path)"
    let number = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard number >= 0 else { throw FileError(operation) }
    let file = FileDescriptor(owning: number)
    let events =
      IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
      | (reportsWrites ? IN_MODIFY : 0)
    guard inotify_add_watch(number, path, UInt32(events)) >= 0 else { throw FileError(operation) }
    do throws(SystemCallError) {
      let wake = try WakeUp()
      let (changes, source) = BoundedStream.make(of: Void.self, limit: 1) { wake.signal() }
      self.changes = changes
      self.wake = wake
      try startThread(named: "folder-watch") {
        Self.read(file, wake, names) { source.yield(()) }
        source.finish()
      }
    } catch {
      throw FileError(operation, errno: error.errno)
    }
  }

  deinit { close() }

  /// Ends the watch and its reports.
  package func close() { wake.signal() }

  private static func read(_ file: FileDescriptor, _ wake: WakeUp, _ names: Set<String>, _ onChange: () -> Void) {
    defer { file.close() }
    guard let number = file.withNumber({ $0 }) else { return }
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      var files = [wake.descriptor, number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let ready = poll(&files, nfds_t(files.count), -1)
      if ready < 0, errno == EINTR { continue }
      guard ready > 0, files[0].revents == 0 else { return }
      let count = Glibc.read(number, &buffer, buffer.count)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count > 0 else { return }
      let (isChange, isOver) = Self.meaning(of: buffer[..<count], for: names)
      if isChange { onChange() }
      if isOver { return }
    }
  }

  /// Reads a row of `struct inotify_event`: watch, events, cookie and length in 32 bits each, and a name in zeros.
  private static func meaning(
    of bytes: ArraySlice<UInt8>, for names: Set<String>
  ) -> (isChange: Bool, isOver: Bool) {
    let head = MemoryLayout<inotify_event>.size
    var rest = bytes
    var isChange = false
    while rest.count >= head {
      let event = rest.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
      let name = rest.dropFirst(head).prefix(Int(event.len)).prefix { $0 != 0 }
      if event.mask & UInt32(IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT) != 0 { return (true, true) }
      // After an overflow any of them may have changed.
      if event.mask & UInt32(IN_Q_OVERFLOW) != 0 || names.contains(String(decoding: name, as: UTF8.self)) {
        isChange = true
      }
      rest = rest.dropFirst(head + Int(event.len))
    }
    return (isChange, false)
  }
}
