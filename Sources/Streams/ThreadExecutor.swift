import Glibc

/// A task executor on a thread that has other work too, such as a connection's I/O thread.
///
/// Jobs that come after ``end()`` run on the default executor.
package final class ThreadExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// The thread, known from its first call of `runJobs` on.
    var thread: pthread_t?
    var hasEnded = false
  }

  private let wake: @Sendable () -> Void
  private let state = Lock(State())

  /// Creates an executor for a thread.
  /// - Parameter wake: A closure that makes the thread call ``runJobs()`` soon, wherever it waits.
  package init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  /// Adds a job and wakes the thread if it may be waiting.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    enum Next { case nothing, wake, passOn }
    let next = state.withLock { state -> Next in
      if state.hasEnded { return .passOn }
      state.jobs.append(job)
      // The thread looks here before it waits, so what it enqueues itself needs no wake-up.
      if let thread = state.thread, pthread_equal(thread, pthread_self()) != 0 { return .nothing }
      return state.jobs.count == 1 ? .wake : .nothing
    }
    switch next {
    case .nothing: break
    case .wake: wake()
    case .passOn: globalConcurrentExecutor.enqueue(ExecutorJob(job))
    }
  }

  /// A Boolean value that says whether jobs wait to be run.
  package var hasJobs: Bool { state.withLock { !$0.jobs.isEmpty } }

  /// Runs the waiting jobs, on the executor's thread; jobs that these enqueue wait for the next call.
  package func runJobs() {
    let jobs = state.withLock { state -> [UnownedJob] in
      if state.thread == nil { state.thread = pthread_self() }
      defer { state.jobs.removeAll() }
      return state.jobs
    }
    for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  /// Passes waiting and later jobs to the default executor; called on the thread, when it ends.
  package func end() {
    let jobs = state.withLock { state in
      state.hasEnded = true
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in jobs { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
  }
}
