import DBus
import EdgeCoder
import Streams
import Timing

/// Creates a central for the duration of one command.
enum PhoneFinder {
  static func makeCentral(
    on radio: Radio, _ choice: PhoneChoiceOptions, phones: Int,
    replyTime: Duration = CentralConfiguration().requests.timeout
  ) throws -> Central {
    let phoneRadio = BlueZPhoneRadio(
      adapter: radio.adapter, access: choice.access.policy(isVirtual: radio.isVirtual), bonds: try choice.bonds.store())
    var configuration = CentralConfiguration()
    configuration.phoneLimit = phones
    configuration.requests.timeout = replyTime
    return Central(scanner: phoneRadio, connector: phoneRadio, configuration: configuration)
  }

  /// Connects to the best phone, runs `work` when the phone is ready, and disconnects.
  /// - Parameters:
  ///   - wait: the timeout for finding and connecting a phone.
  ///   - replyTime: the timeout for a reply.
  ///   - progress: receives the progress, for display.
  /// - Throws: ``Failure`` when no phone is ready in time, or what `work` throws.
  static func withPhone<Value: Sendable>(
    on radio: Radio, _ choice: PhoneChoiceOptions, wait: Duration, replyTime: Duration,
    progress: @escaping @Sendable (String) -> Void,
    _ work: @escaping @Sendable (Central) async throws -> Value
  ) async throws -> Value {
    let central = try makeCentral(on: radio, choice, phones: 1, replyTime: replyTime)
    let events = await central.events()
    return try await withThrowingTaskGroup(of: Void.self) { group in
      // Cancelled at the end, so that the central disconnects before the group returns.
      group.addTask { await central.run() }
      defer { group.cancelAll() }
      try await untilReady(events, wait: wait, progress: progress)
      return try await work(central)
    }
  }

  private static func untilReady(
    _ events: BoundedStream<CentralEvent>, wait: Duration, progress: @escaping @Sendable (String) -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      let last = LastWord()
      group.addTask {
        for await event in events {
          switch event {
          case .scanning:
            progress("scanning for phones …")
          case .notScanning(let reason): await last.set("the adapter cannot scan: \(reason)")
          case .found(let phone):
            if let refusal = phone.refusal {
              progress("not used: \(refusal.shown.printable)")
              await last.set(refusal.shown)
            } else {
              progress("found \(phone.name.printable)")
              await last.set("\(phone.name) was found, but could not be connected")
            }
          case .connection(_, let name, let connection, let failure):
            progress("\(name.printable): \(CentralDiary.words(for: connection))")
            if connection == .ready { return }
            if let failure { await last.set("\(name): \(failure.shown)") }
          case .status: break
          }
        }
        try Task.checkCancellation()
        throw Failure("the scan for phones ended", status: .failed)
      }
      group.addTask {
        try await Task.sleep(for: wait, clock: .steady)
        throw Failure(
          await last.text ?? "no phone was found within \(Int(wait / .seconds(1))) s",
          hint: "start `edgeblue phone` on another machine or adapter, or open EdgeCoder on a phone in range",
          status: .unavailable)
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// The latest reason why no phone is ready yet.
  private actor LastWord {
    private(set) var text: String?
    func set(_ text: String) { self.text = text }
  }
}
