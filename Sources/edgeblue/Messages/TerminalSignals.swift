import Glibc
import Streams

/// The signals that end the program, as bytes that a reader of the terminal can wait for, until the value is released.
///
/// By default they would end the program at once, and leave the terminal without echo.
final class TerminalSignals {
  /// The descriptor that can be read after a signal.
  var number: Int32 { reading.withNumber { $0 } ?? -1 }

  private let reading: FileDescriptor
  private let writing: FileDescriptor
  private var before: [(signal: Int32, action: sigaction)] = []

  init() throws {
    let ends = try FileDescriptor.pipe()
    reading = ends.reading
    writing = ends.writing
    signalPipe = writing.withNumber { $0 } ?? -1
    for signal in [SIGINT, SIGTERM, SIGHUP] {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in
        // All that a handler may do.
        let number = errno
        var byte: UInt8 = 0
        _ = write(signalPipe, &byte, 1)
        errno = number
      }
      action.sa_flags = SA_RESTART
      var old = sigaction()
      sigaction(signal, &action, &old)
      before.append((signal, old))
    }
  }

  deinit {
    for old in before {
      var action = old.action
      sigaction(old.signal, &action, nil)
    }
    signalPipe = -1
  }

  /// Stops the program as Ctrl-Z does, until the shell continues it.
  static func stop() {
    var one = sigset_t()
    var all = sigset_t()
    sigemptyset(&one)
    sigaddset(&one, SIGTSTP)
    // A thread of Swift's blocks it, and would go on until another thread takes it.
    pthread_sigmask(SIG_UNBLOCK, &one, &all)
    raise(SIGTSTP)
    pthread_sigmask(SIG_SETMASK, &all, nil)
  }
}

/// The descriptor that the handler writes to. There is one reader of the terminal at a time.
nonisolated(unsafe) private var signalPipe: Int32 = -1
