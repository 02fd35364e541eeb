import Coverage
import FoundationEssentials
import JSONValues
import Timing

/// A run in real time, over a responder on this machine.
enum Live {
  private struct Control: CoverageTransport {
    let port: Int

    func post(_ route: CoverageRoute, members: Data) async throws -> ControlReply {
      let text = """
        {"test_uuid":"bench","ping_token":"\(Data(count: 16).base64EncodedString())","ping_host":"127.0.0.1",\
        "ping_port":"\(port)"}
        """
      return ControlReply(status: 201, body: Data(text.utf8))
    }
  }

  static func run(_ path: String, port: Int, seconds: Int) async throws {
    var options = CoverageRun.Options()
    options.limit = .seconds(seconds)
    let run = CoverageRun(
      store: try CoverageStore(path: path), server: "https://control.example", transport: Control(port: port),
      surroundings: (.unknown, .lte), options: options)
    let walk = Task {
      for number in 0... {
        let place = CoverageLocation(latitude: 48 + Double(number) * 1e-5, longitude: 16, accuracy: 5, speed: 1.4)
        guard let place else { return }
        run.take(.location(place))
        try await TimeSource.continuous.sleep(for: .milliseconds(720))
      }
    }
    let last = Task {
      var status: CoverageStatus?
      for await update in run.updates() { status = update }
      return status
    }
    let begin = Usage.cpu
    _ = try await run.measure()
    let cpu = Usage.cpu - begin
    walk.cancel()
    print(cpu, await last.value?.pings.answered ?? 0, Usage.peak)
  }
}
