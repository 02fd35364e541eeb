/// A physical layer of LE: its symbol rate and coding.
public enum PHY: Sendable, Hashable, CaseIterable {
  /// The LE 1M PHY, 1 Mbit/s.
  case oneMegabit
  /// The LE 2M PHY, 2 Mbit/s.
  case twoMegabit
  /// The LE Coded PHY, 125 or 500 kbit/s with long range.
  case coded
}
