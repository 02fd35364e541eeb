package import BlueZ

/// Returns the connections of an adapter as the kernel knows them; tests without a kernel's Bluetooth replace it.
package typealias KernelConnections = @Sendable (Adapter) throws -> [ConnectionInfo]
