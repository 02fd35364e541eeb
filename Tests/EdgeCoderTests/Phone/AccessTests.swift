import BlueZ
import Testing

@testable import EdgeCoder

@Suite("Access to a phone, and the trial of a connection") struct AccessTests {
  private let friend = BluetoothAddress("00:AA:01:00:00:01")
  private let other = BluetoothAddress("00:AA:01:00:00:02")

  @Test("An open phone admits every central") func anOpenPhoneAdmitsEverybody() {
    #expect(AccessPolicy.open.admits(nil, isBonded: false))
    #expect(AccessPolicy.open.readFlags == .read)
    #expect(AccessPolicy.open.notifyFlags == .notify)
  }

  @Test("A closed phone admits bonded peers", arguments: [AccessPolicy.encrypted(), .authenticated()])
  func aClosedPhoneAdmitsBondedPeers(_ policy: AccessPolicy) {
    #expect(policy.admits(friend, isBonded: true))
    #expect(!policy.admits(friend, isBonded: false))
    #expect(!policy.admits(nil, isBonded: true))
  }

  @Test("An allow list admits bonded peers on it") func aListAdmitsWhoIsOnItAndBonded() throws {
    let policy = AccessPolicy.authenticated(allowed: [try #require(friend)])
    #expect(policy.admits(friend, isBonded: true))
    #expect(!policy.admits(friend, isBonded: false))
    #expect(!policy.admits(other, isBonded: true))
  }

  /// No access of any kind, the subscription included, is left without its flag.
  @Test("Closed modes protect every access") func closedModesProtectEveryAccess() {
    #expect(AccessPolicy.encrypted().readFlags.contains(.encryptRead))
    #expect(AccessPolicy.encrypted().notifyFlags.contains(.encryptNotify))
    #expect(AccessPolicy.encrypted().writeFlags.contains(.encryptWrite))
    let strict = AccessPolicy.authenticated()
    #expect(strict.readFlags.isSuperset(of: [.encryptAuthenticatedRead, .secureRead]))
    #expect(strict.notifyFlags.isSuperset(of: [.encryptAuthenticatedNotify, .secureNotify]))
    #expect(strict.writeFlags.isSuperset(of: [.encryptAuthenticatedWrite, .secureWrite]))
    #expect(AccessPolicy.open.securityLevel == .low)
    #expect(AccessPolicy.encrypted().securityLevel == .medium)
    #expect(strict.securityLevel == .fips)
  }

  // MARK: Links

  private func evidence(bonded: Bool = true, admitted: Bool = true, encrypted: Bool = true) -> ConnectionTrial.Evidence
  {
    ConnectionTrial.Evidence(isBonded: bonded, refusal: admitted ? nil : .notAllowed, isEncrypted: encrypted)
  }

  @Test("A bonded peer encrypts in time or is disconnected") func aBondedPeerEncryptsInTimeOrGoes() {
    var trial = ConnectionTrial(at: .seconds(100))
    #expect(trial.handle(evidence(encrypted: false), at: .seconds(100)) == .wait)
    #expect(trial.handle(evidence(encrypted: false), at: .seconds(104.9)) == .wait)
    #expect(trial.handle(evidence(encrypted: false), at: .seconds(105)) == .disconnect(.neverEncrypted))
    #expect(trial.handle(evidence(), at: .seconds(105)) == .keep)
  }

  @Test("An unknown peer pairs in time or is disconnected") func aStrangerPairsInTimeOrGoes() {
    var trial = ConnectionTrial(at: .zero)
    let stranger = evidence(bonded: false, admitted: false, encrypted: false)
    #expect(trial.handle(stranger, at: .seconds(59)) == .wait)
    #expect(trial.handle(stranger, at: .seconds(60)) == .disconnect(.neverPaired))
    // Encrypted without keys that are kept is no bond.
    let passing = evidence(bonded: false, admitted: false)
    #expect(trial.handle(passing, at: .seconds(60)) == .disconnect(.neverPaired))
    // Who bonds in the last moment has the time that everybody has to encrypt.
    #expect(trial.handle(evidence(encrypted: false), at: .seconds(61)) == .wait)
    #expect(trial.handle(evidence(), at: .seconds(62)) == .keep)
  }

  @Test("A new bond is admitted in time or disconnected") func aNewBondIsAdmittedInTimeOrGoes() {
    let pending = ConnectionTrial.Evidence(isBonded: true, refusal: .notAdmitted, isEncrypted: true)
    var trial = ConnectionTrial(at: .zero)
    #expect(trial.handle(pending, at: .seconds(1)) == .wait)
    #expect(trial.handle(pending, at: .seconds(5.9)) == .wait)
    #expect(trial.handle(pending, at: .seconds(6)) == .disconnect(.notAdmitted))
    #expect(trial.handle(evidence(), at: .seconds(6)) == .keep)
  }

  @Test("A peer that is not on the allow list is disconnected at once") func whoIsNotOnTheListGoesAtOnce() {
    var trial = ConnectionTrial(at: .zero)
    #expect(trial.handle(evidence(admitted: false), at: .zero) == .disconnect(.notAllowed))
  }
}
