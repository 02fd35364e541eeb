import Glibc

/// Under a sanitizer a test computes twenty times as long, and what that can find shows in a tenth of the rounds.
enum Sanitizer {
  static let isOn = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

  /// How many rounds to do of so many.
  static func rounds(_ usual: Int) -> Int { isOn ? max(usual / 10, 1) : usual }
}
