import Testing

/// Everything that needs two radios. One after the other: they share the air.
@Suite(.serialized, .enabled(if: Radio.isThere, Radio.needed))
struct RadioTests {}
