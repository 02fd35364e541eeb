import Agent
import EdgeCoder

extension PhoneSnapshot {
  /// What can be followed over time. The counters begin anew with each start of the phone.
  var metrics: [Metric] {
    [
      Metric("edgeblue_phone_centrals", .gauge, "Centrals that have a link to the phone.", peers),
      Metric("edgeblue_phone_requests_waiting", .gauge, "Requests that wait for their turn.", queued),
      Metric("edgeblue_phone_requests_total", .counter, "Well-formed requests.", counters.requests),
      Metric("edgeblue_phone_replies_total", .counter, "Replies that were sent whole.", counters.replies),
      Metric(
        "edgeblue_phone_replies_failed_total", .counter, "Replies that could not be sent, or only in part.",
        counters.repliesFailed),
      Metric(
        "edgeblue_phone_engine_failures_total", .counter, "Replies that the engine failed to give.",
        counters.engineFailures),
      Metric("edgeblue_phone_busy_total", .counter, "Requests told that the phone is busy.", counters.busy),
      Metric(
        "edgeblue_phone_cancelled_total", .counter, "Requests given up because their central left.",
        counters.cancelled),
      Metric(
        "edgeblue_phone_refused_total", .counter, "Accesses refused to centrals that may not ask.",
        counters.accessRefused),
    ]
  }
}
