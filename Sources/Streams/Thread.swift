internal import CLinux
import Glibc

/// Starts a detached thread.
/// - Parameters:
///   - name: The thread's name in `ps` and debuggers, at most 15 bytes.
///   - body: The closure to run; it keeps alive what it captures until it returns.
/// - Throws: ``SystemCallError`` when the kernel grants no thread.
package func startThread(
  named name: String, _ body: @escaping @Sendable () -> Void
) throws(SystemCallError) {
  final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var thread = pthread_t()
  let box = Unmanaged.passRetained(
    Box {
      pthread_setname_np(pthread_self(), name)
      body()
    })
  let result = pthread_create(
    &thread, nil,
    { argument in
      Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().body()
      return nil
    }, box.toOpaque())
  guard result == 0 else {
    box.release()
    throw SystemCallError("pthread_create", errno: result)
  }
  pthread_detach(thread)
}
