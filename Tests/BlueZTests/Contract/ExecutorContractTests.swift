import BlueZTesting
import Glibc
import Testing

extension ContractTests {
  @Test("Tasks run on the session's thread and survive it") func tasksRunOnTheSessionsThreadAndOutliveIt() async throws
  {
    func thread() -> pthread_t { pthread_self() }

    let lab = try await FakeBlueZ.start(adapters: 1)
    let session = try await lab.session()
    let executor = session.executor
    let threads = await withTaskExecutorPreference(executor) {
      var threads: Set<pthread_t> = []
      for _ in 0..<20 {
        threads.insert(thread())
        await Task.yield()
      }
      return threads
    }
    #expect(threads.count == 1)
    session.close()
    await withTaskExecutorPreference(executor) { await Task.yield() }
    await withTaskExecutorPreference(session.executor) { await Task.yield() }
    try await lab.stop()
  }
}
