internal import NIOCore
internal import NIOPosix

/// A thread with an event loop that also runs tasks, for as long as the program.
final class EventLoopThread: TaskExecutor {
  let loop: any EventLoop
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

  init() { loop = group.next() }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedTaskExecutor()
    loop.execute { job.runSynchronously(on: executor) }
  }
}
