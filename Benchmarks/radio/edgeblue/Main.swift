import BlueZ
import EdgeCoder
import Foundation
import Streams

/// EdgeBlue's half of the radio benchmark.
///
///     radio-bench server ADAPTER                        sends back every value of 20 bytes
///     radio-bench client ADAPTER ADDRESS COUNT          writes values, each when the last one came back
///     radio-bench stream ADAPTER ADDRESS N SIZE MS      N numbered values of SIZE bytes, blocking MS ms after a tenth
///     radio-bench phone ADAPTER PACE_MS BYTES           answers every prompt with BYTES bytes
///     radio-bench central ADAPTER COUNT                 asks that phone
///     radio-bench survivor ADAPTER OTHER                declares all there is, and says when it is in place again
///     radio-bench linker ADAPTER ADDRESS COUNT          connects to the server, has a value back, disconnects
///     radio-bench link ADAPTER OTHER ROUNDS             the v2 link beside the raw protocol and a plain L2CAP copy
///
/// The servers print "ready" and run until they are killed. The clients print "ready", wait for a line, then print
/// microseconds, one a line, and an empty line. For a stream these are the microseconds from the first value to the
/// last, how many came, and how many were dropped and counted.
@main
struct Main {
  /// What went wrong, for the person who runs the benchmark.
  struct Failure: Error { let what: String }

  static let warmUp = 20

  static func main() async throws {
    let words = CommandLine.arguments.dropFirst()
    guard let role = words.first, let name = words.dropFirst().first else {
      throw Failure(what: "usage: radio-bench server|client|stream|phone|central ADAPTER …")
    }
    let session = try await Session.open()
    let adapter = try await session.adapter(name, timeout: .seconds(30))
    let rest = Array(words.dropFirst(2))
    switch (role, rest.count) {
    case ("server", 0):
      try await withTaskExecutorPreference(session.executor) { try await serve(on: adapter) }
    case ("client", 2):
      let count = Int(rest[1]) ?? 0
      try await withTaskExecutorPreference(session.executor) { try await trips(on: adapter, rest[0], count) }
    case ("stream", 4): try await stream(on: adapter, rest[0], rest[1...].map { Int($0) ?? 0 })
    case ("phone", 2): try await phone(on: adapter, .milliseconds(Int(rest[0]) ?? 10), Int(rest[1]) ?? 0)
    case ("central", 1): try await ask(on: adapter, Int(rest[0]) ?? 0)
    case ("survivor", 1): try await survive(on: adapter, and: rest[0])
    case ("linker", 2): try await link(on: adapter, rest[0], Int(rest[1]) ?? 0)
    case ("link", 2): try await compareLinks(on: adapter, and: rest[0], Int(rest[1]) ?? 1)
    default: throw Failure(what: "\(role): wrong arguments")
    }
  }

  static func uuid(_ text: String) throws -> BluetoothUUID {
    guard let uuid = BluetoothUUID(text) else { throw Failure(what: "\(text) is not a UUID") }
    return uuid
  }

  private static func serve(on adapter: Adapter) async throws {
    let (values, source) = BoundedStream.make(of: [UInt8].self, limit: 1024, policy: .dropNewest)
    let request = LocalCharacteristic(
      try uuid(EdgeCoderUUIDs.request), .writeWithoutResponse, writes: .socket { source.yield($0) })
    let response = LocalCharacteristic(try uuid(EdgeCoderUUIDs.response), .notify)
    let service = try uuid(EdgeCoderUUIDs.service)
    let application = try await adapter.offer([LocalService(service, characteristics: [request, response])])
    let advertisement = try await adapter.advertise(.init(services: [service]))
    say("ready")
    for await value in values { try await response.notify(value) }
    withExtendedLifetime((application, advertisement)) {}
  }

  private static func trips(on adapter: Adapter, _ address: String, _ count: Int) async throws {
    let (values, writer) = try await sockets(of: address, on: adapter, limit: 4096)
    var arrived = values.makeAsyncIterator()
    for number in 0..<warmUp { try await trip(number, writer, &arrived) }
    start()
    var took: [Duration] = []
    for number in 0..<count {
      let begun = ContinuousClock.now
      try await trip(number, writer, &arrived)
      took.append(ContinuousClock.now - begun)
    }
    finish(took)
  }

  static func trip(
    _ number: Int, _ writer: CharacteristicWriter, _ arrived: inout Notifications.Iterator
  ) async throws {
    let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 20)
    try await writer.write(value)
    guard try await arrived.next() == value else { throw Failure(what: "another value came back") }
  }

  private static func phone(on adapter: Adapter, _ pace: Duration, _ bytes: Int) async throws {
    let transport = try await BlueZPhoneTransport.start(on: adapter, name: "bench", access: .open)
    var configuration = PhoneConfiguration()
    configuration.chunkInterval = pace
    configuration.rates.requestsPerMinute = .max
    configuration.rates.bytesPerMinute = .max
    var options = EchoEngine.Options()
    options.repeatToBytes = bytes
    let phone = PhoneService(
      transport: transport, engine: EchoEngine(options: options), configuration: configuration)
    say("ready")
    await phone.run()
  }

  private static func ask(on adapter: Adapter, _ count: Int) async throws {
    let radio = BlueZPhoneRadio(adapter: adapter, access: .open)
    let central = Central(scanner: radio, connector: radio)
    let work = Task { await central.run() }
    say("scanning")
    for await event in await central.events() {
      if case .connection(_, _, .ready, _) = event { break }
    }
    start()
    var took: [Duration] = []
    for _ in 0..<count {
      let begun = ContinuousClock.now
      let reply = try await central.generate(prompt: ".", maxTokens: nil)
      guard reply.answer.ok else { throw Failure(what: reply.answer.output) }
      took.append(ContinuousClock.now - begun)
    }
    finish(took)
    work.cancel()
    await work.value
  }

  /// Says that measuring can begin, and waits for the word.
  static func start() {
    say("ready")
    _ = readLine()
  }

  /// Prints what was measured; what the process used is looked up in /proc before it goes.
  private static func finish(_ took: [Duration]) {
    for each in took { say("\(each / .microseconds(1))") }
    say("")
    _ = readLine()
  }

  static func say(_ line: String) {
    print(line)
    fflush(nil)
  }
}
