import SpeedTest
import SystemState

/// The settings that a loop was started with, beside its plan.
struct LoopSettings: Codable, Hashable, Sendable {
  var test: SpeedTestSettings
  var location: LocationSettings?
}

extension LoopFix {
  /// Creates a location of a loop from one of a monitor that was just delivered.
  init(_ fix: LocationFix) { self.init(place: fix.place, error: fix.error) }
}

extension LoopPresence {
  /// Creates the presence from the phase of the program. A program that has no session to follow knows of nobody.
  init(_ snapshot: LifecycleSnapshot) {
    switch (snapshot.phase, snapshot.reason) {
    case (.suspending, _): self = .suspending
    case (.background, _), (_, .headless): self = .away
    case (.foreground, _): self = .present
    }
  }
}
