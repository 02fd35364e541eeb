package import BlueZ

/// Returns the connections of an adapter as the kernel knows them; tests without a kernel's Bluetooth replace it.
package typealias KernelConnections = @Sendable (Adapter) throws -> [ConnectionInfo]

/// Returns `true` if the kernel finds that the keys of a device provide a security level; tests without a kernel's
/// Bluetooth replace it.
package typealias KernelSecurity = @Sendable (Device, SecurityLevel) async throws -> Bool
