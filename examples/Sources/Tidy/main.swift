// Tidies up every quarter of an hour, on external power only, also after it was killed and started again.
//
//     Tidy
import BackgroundTasks
import SystemState

let tidy = BackgroundTaskRequest("org.example.tidy", .processing, delay: .seconds(900), requiresExternalPower: true)
let scheduler = try BackgroundTaskScheduler(
  [
    .init(tidy.identifier, tidy.kind) { task in
      // Asking first: the next run is then sure to come, however this one ends.
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
try await withThrowingTaskGroup(of: Void.self) { group in
  group.addTask { try await scheduler.run() }
  for await update in power.updates() {
    let isPowered = update.snapshot.telemetry.onExternalPower
    await scheduler.update(BackgroundConditions(isInBackground: true, onExternalPower: isPowered))
  }
}
