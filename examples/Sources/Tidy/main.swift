// Runs a task every 15 min, on external power only; the schedule survives a crash.
//
//     Tidy
import BackgroundTasks
import Glibc
import SystemState

let tidy = BackgroundTaskRequest("org.example.tidy", .processing, delay: .seconds(900), requiresExternalPower: true)

do {
  let scheduler = try BackgroundTaskScheduler(
    [
      .init(tidy.identifier, tidy.kind) { task in
        // Submitted first, so that the next run is scheduled however this one ends.
        try await task.submit(tidy)
        print("Tidying, run \(task.number), until \(task.end) at the latest.")
      }
    ], store: BackgroundTaskStore(path: "tidy.json"))

  if await scheduler.snapshot.pending.isEmpty {
    var first = tidy
    first.delay = .zero
    try await scheduler.submit(first)
  }
  let power = try await PowerMonitor.start()
  try await withThrowingDiscardingTaskGroup { group in
    group.addTask { try await scheduler.run() }
    for await update in power.updates() {
      let isPowered = update.snapshot.telemetry.onExternalPower
      await scheduler.update(BackgroundConditions(isInBackground: true, onExternalPower: isPowered))
    }
  }
} catch {
  print(error)
  exit(1)
}
