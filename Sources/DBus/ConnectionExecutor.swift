import Glibc

/// Runs tasks on a connection's own thread, between the messages; after the connection's end, on the default executor.
final class ConnectionExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// The connection's thread, while it serves.
    var thread: pthread_t?
    var hasEnded = false
  }

  private let loop: WatchLoop
  private let state = Lock(State())

  init(loop: WatchLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
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
    case .wake: loop.wake()
    case .passOn: globalConcurrentExecutor.enqueue(ExecutorJob(job))
    }
  }

  /// Whether jobs wait to be run.
  var hasJobs: Bool { state.withLock { !$0.jobs.isEmpty } }

  /// Runs the jobs that are there; those they enqueue come after the messages that have arrived meanwhile. Only on
  /// the connection's thread.
  func runJobs() {
    let jobs = state.withLock { state -> [UnownedJob] in
      if state.thread == nil { state.thread = pthread_self() }
      defer { state.jobs.removeAll() }
      return state.jobs
    }
    for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  /// Passes on what waits and all that will come. Only on the connection's thread, when it has ended.
  func end() {
    let jobs = state.withLock { state in
      state.hasEnded = true
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in jobs { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
  }
}
