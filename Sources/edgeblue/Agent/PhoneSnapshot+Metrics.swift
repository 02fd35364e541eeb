import Agent
import EdgeCoder

extension PhoneSnapshot {
  /// The metrics of the phone. Counters restart from zero with each start of the phone.
  var metrics: [Metric] {
    [
      Metric("edgeblue_phone_centrals", .gauge, "Connected centrals.", peers),
      Metric("edgeblue_phone_requests_waiting", .gauge, "Requests that wait in the queue.", queued),
      Metric("edgeblue_phone_requests_total", .counter, "Well-formed requests.", counters.requests),
      Metric("edgeblue_phone_replies_total", .counter, "Replies that were sent completely.", counters.replies),
      Metric(
        "edgeblue_phone_replies_failed_total", .counter, "Replies that could not be sent, or only in part.",
        counters.repliesFailed),
      Metric(
        "edgeblue_phone_engine_failures_total", .counter, "Replies that failed in the engine.",
        counters.engineFailures),
      Metric(
        "edgeblue_phone_busy_total", .counter, "Requests refused because the phone was busy.", counters.refused.busy),
      Metric(
        "edgeblue_phone_cancelled_total", .counter, "Requests cancelled because their central disconnected.",
        counters.cancelled),
      Metric(
        "edgeblue_phone_refused_total", .counter, "Accesses refused to centrals without permission.",
        counters.refused.accesses),
    ]
  }
}
