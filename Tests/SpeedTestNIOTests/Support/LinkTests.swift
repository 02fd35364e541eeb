import Testing

/// The suites that send as fast as they can: one test at a time, or each would measure the others.
@Suite(.serialized) struct LinkTests {}
