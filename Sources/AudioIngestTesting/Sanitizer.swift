import Glibc

/// The sanitizer of this process: with one, tests take twenty times as long, and a tenth of the rounds suffices.
package enum Sanitizer {
  package static let isOn = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

  /// Returns the number of rounds to perform of a usual number.
  package static func rounds(_ usual: Int) -> Int { isOn ? max(usual / 10, 1) : usual }
}
