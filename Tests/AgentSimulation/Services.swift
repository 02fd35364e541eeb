import Agent

/// What is at work in one life.
final class Services: @unchecked Sendable {
  // Sound: there is one thread, see Executor.
  var active: [ComputeService] = []
  var ready: Set<ComputeService> = []
  /// Since when a service is active though it is to stop.
  var unwantedSince: Duration?
}

/// A service whose times of work are recorded.
struct Watched: ComputeRunner {
  let service: ComputeService
  let inner: any ComputeRunner
  let services: Services
  let world: World

  init(_ service: ComputeService, _ inner: any ComputeRunner, _ services: Services, _ world: World) {
    self.service = service
    self.inner = inner
    self.services = services
    self.world = world
  }

  func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    if !services.active.isEmpty { world.fault("\(service) begins beside \(services.active)") }
    services.active.append(service)
    world.tell("\(service) begins")
    defer {
      world.tell("\(service) ends")
      services.active.removeAll { $0 == service }
      services.ready.remove(service)
    }
    try await inner.run {
      services.ready.insert(service)
      await whenReady()
    }
  }
}
