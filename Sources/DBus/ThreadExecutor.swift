import Glibc

/// Runs tasks on a thread that has other work too, such as a connection's; after its end, on the default executor.
package final class ThreadExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// The thread, from its first jobs on.
    var thread: pthread_t?
    var hasEnded = false
  }

  private let wake: @Sendable () -> Void
  private let state = Lock(State())

  /// - Parameter wake: makes the thread look for jobs soon, wherever it waits.
  package init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

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

  /// Whether jobs wait to be run.
  package var hasJobs: Bool { state.withLock { !$0.jobs.isEmpty } }

  /// Runs the jobs that are there; those they enqueue come after the thread's own work. Only on that thread.
  package func runJobs() {
    let jobs = state.withLock { state -> [UnownedJob] in
      if state.thread == nil { state.thread = pthread_self() }
      defer { state.jobs.removeAll() }
      return state.jobs
    }
    for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  /// Passes on what waits and all that will come. Only on the thread, when it ends.
  package func end() {
    let jobs = state.withLock { state in
      state.hasEnded = true
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in jobs { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
  }
}
