import Testing

// One after the other: they share the air.
@Suite("Tests that need two radios", .serialized, .enabled(if: Radio.isThere, Radio.needed))
struct RadioTests {}
