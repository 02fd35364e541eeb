internal import SpeedTest

/// A stream of datagrams in the rhythm of a call, which the QoS server returns.
enum CallQoSTest: QoSTest {
  /// The time between two datagrams unless the objective names one: the frame of most codecs of telephones.
  private static let interval = Duration.milliseconds(20)
  private static let callDuration = Duration.seconds(1)

  static func run(_ objective: QoSObjective, _ context: QoSContext) async throws -> QoSResult {
    guard let port = try objective.port("out_port") ?? objective.port("in_port") else {
      throw SpeedTestError(.invalidReply, "the objective names no port")
    }
    let delay = objective.interval(default: interval)
    let call = objective.duration("call_duration", default: callDuration)
    // A longer call has no more datagrams than can be told apart.
    let count = min(max(Int(call / delay), 1), QoSDatagram.sequences)
    let server = try await context.server(objective)
    let tally = try await DatagramRun.out(
      server, .init(port: port, count: count), uuid: context.uuid, every: delay,
      max(objective.timeout, delay * count * 2 + .seconds(1)))
    let quality = CallQuality(tally.datagrams.echoes, sent: count)
    var values = objective.repeated(
      "timeout", "delay", "call_duration", "out_port", "in_port", "sample_rate", "bits_per_sample",
      "payload")
    values.merge([
      "voip_result_status": tally.here == 0 ? "TIMEOUT" : "OK",
      "voip_result_out_num_packets": .number(tally.there),
      "voip_result_in_num_packets": .number(tally.here),
      "voip_result_in_mean_jitter": .number(quality.meanJitter),
      "voip_result_in_max_jitter": .number(quality.maxJitter),
      "voip_result_in_max_delta": .number(quality.maxDelta),
      "voip_result_in_skew": .number(quality.skew),
      "voip_result_in_sequence_error": .number(quality.sequenceErrors),
      "voip_result_in_short_seq": .number(quality.shortestRun),
      "voip_result_in_long_seq": .number(quality.longestRun),
    ]) { $1 }
    return QoSResult(
      objective, target: "\(count) packets to port \(port)", verdict(quality, tally), values)
  }

  private static func verdict(_ quality: CallQuality, _ tally: DatagramRun.Tally) -> QoSVerdict {
    if tally.here == 0 { return .failed("no answer in time") }
    if quality.isTolerable { return .passed }
    let loss = Int((quality.loss * 100).rounded())
    return .failed("\(loss) % loss, mean jitter \(quality.meanJitter / 1_000_000) ms")
  }
}
