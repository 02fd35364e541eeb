import DeterministicTesting
import Glibc

/// Runs every job of this process on the one thread there is, in an order that a seed decides.
///
/// Swift's runtime lets a program take over the jobs that would go to its pool of threads. Whatever actors and tasks do
/// is then the same each time, and a different seed has them overtake one another differently.
enum Executor {
  private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

  private final class Turn: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) { Executor.ready.append(UnownedJob(job)) }
  }

  // Sound: there is one thread, and `take` ends the program when there is another.
  nonisolated(unsafe) private static var ready: [UnownedJob] = []
  nonisolated(unsafe) private static var order = SeededGenerator(seed: 0)
  nonisolated(unsafe) private static var thread = pthread_self()
  private static let turn = Turn()

  /// Takes over: to be called first of all.
  static func install() {
    guard let symbol = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook") else {
      fatalError("this Swift lets nobody take over its jobs")
    }
    symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, _ in Executor.take(job) }
    thread = pthread_self()
  }

  /// From now on the order is that of the seed.
  static func begin(seed: UInt64) {
    ready = []
    order = SeededGenerator(seed: seed)
  }

  /// Runs one of the jobs that could run.
  /// - Returns: `false` when there is none.
  static func runOne() -> Bool {
    guard !ready.isEmpty else { return false }
    let place = Int(order.next() % UInt64(ready.count))
    ready.swapAt(place, ready.count - 1)
    ready.removeLast().runSynchronously(on: turn.asUnownedTaskExecutor())
    return true
  }

  /// Drops the pending jobs, because the program was killed. Its memory stays allocated and unused.
  static func kill() { ready = [] }

  private static func take(_ job: UnownedJob) {
    precondition(pthread_equal(pthread_self(), thread) != 0, "a job comes from another thread")
    ready.append(job)
  }
}
