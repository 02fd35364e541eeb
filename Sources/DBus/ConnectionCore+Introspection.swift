/// Introspection XML of what is exported.
extension ConnectionCore {
  func introspection(of path: ObjectPath) -> String {
    let (node, paths) = state.withLock { ($0.objects[path], Array($0.objects.keys)) }
    var xml = """
      <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
       "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
      <node>

      """
    if let node {
      for interface in node.interfaces { xml += interface.introspection }
      xml += Self.standardInterfaces
      if node.isObjectManager { xml += Self.objectManagerInterface }
    }
    let prefix = path == .root ? "/" : path.description + "/"
    let children = Set(
      paths.filter { $0 != path && $0.isWithin(path) }
        .compactMap { $0.description.dropFirst(prefix.count).split(separator: "/").first })
    for child in children.sorted() { xml += "  <node name=\"\(child)\"/>\n" }
    return xml + "</node>\n"
  }

  private static let standardInterfaces = """
      <interface name="org.freedesktop.DBus.Introspectable">
        <method name="Introspect"><arg name="xml" type="s" direction="out"/></method>
      </interface>
      <interface name="org.freedesktop.DBus.Properties">
        <method name="Get">
          <arg name="interface" type="s" direction="in"/>
          <arg name="property" type="s" direction="in"/>
          <arg name="value" type="v" direction="out"/>
        </method>
        <method name="GetAll">
          <arg name="interface" type="s" direction="in"/>
          <arg name="properties" type="a{sv}" direction="out"/>
        </method>
        <method name="Set">
          <arg name="interface" type="s" direction="in"/>
          <arg name="property" type="s" direction="in"/>
          <arg name="value" type="v" direction="in"/>
        </method>
        <signal name="PropertiesChanged">
          <arg name="interface" type="s"/>
          <arg name="changed" type="a{sv}"/>
          <arg name="invalidated" type="as"/>
        </signal>
      </interface>

    """

  private static let objectManagerInterface = """
      <interface name="org.freedesktop.DBus.ObjectManager">
        <method name="GetManagedObjects"><arg name="objects" type="a{oa{sa{sv}}}" direction="out"/></method>
        <signal name="InterfacesAdded">
          <arg name="object" type="o"/>
          <arg name="interfaces" type="a{sa{sv}}"/>
        </signal>
        <signal name="InterfacesRemoved">
          <arg name="object" type="o"/>
          <arg name="interfaces" type="as"/>
        </signal>
      </interface>

    """
}

extension Interface {
  /// The interface as introspection XML, indented by two.
  var introspection: String {
    var xml = "  <interface name=\"\(name)\">\n"
    for method in methods {
      xml += "    <method name=\"\(method.name)\">\n"
      for argument in method.input { xml += argument.introspection(" direction=\"in\"") }
      for argument in method.output { xml += argument.introspection(" direction=\"out\"") }
      xml += "    </method>\n"
    }
    for signal in signals {
      xml += "    <signal name=\"\(signal.name)\">\n"
      for argument in signal.arguments { xml += argument.introspection("") }
      xml += "    </signal>\n"
    }
    for property in properties {
      let access = property.set == nil ? "read" : "readwrite"
      xml += "    <property name=\"\(property.name)\" type=\"\(property.type)\" access=\"\(access)\"/>\n"
    }
    return xml + "  </interface>\n"
  }
}

extension Interface.Argument {
  fileprivate func introspection(_ direction: String) -> String {
    // Names are Swift literals of the program; only the characters XML cannot hold need care.
    let name = name.filter { $0.isLetter || $0.isNumber || $0 == "_" }
    return "      <arg name=\"\(name)\" type=\"\(type)\"\(direction)/>\n"
  }
}
