// Says what becomes of the network until there is a way out: for a script that has to wait for one.
//
//     WayOut && rsync …
import NetworkPath

let monitor = try await NetworkPathMonitor.start()
for await update in monitor.updates() {
  for change in update.changes { print(change) }
  if update.path.status == .satisfied { break }
  if let obstacle = update.path.obstacle { print("waiting:", obstacle) }
}

let path = monitor.path
if let interface = path.preferredInterface {
  print("There is a way out through", interface.name, path.isExpensive ? "(it may cost money)" : "")
}
