extension AssignedNumbers {
  /// The GATT services by UUID; from fcb2 on, frequent ones that members of the SIG and other bodies have registered.
  static let services = table(
    """
    1800 Generic Access
    1801 Generic Attribute
    1802 Immediate Alert
    1803 Link Loss
    1804 TX Power
    1805 Current Time
    1806 Reference Time Update
    1807 Next DST Change
    1808 Glucose
    1809 Health Thermometer
    180a Device Information
    180d Heart Rate
    180e Phone Alert Status
    180f Battery
    1810 Blood Pressure
    1811 Alert Notification
    1812 Human Interface Device
    1813 Scan Parameters
    1814 Running Speed and Cadence
    1815 Automation IO
    1816 Cycling Speed and Cadence
    1818 Cycling Power
    1819 Location and Navigation
    181a Environmental Sensing
    181b Body Composition
    181c User Data
    181d Weight Scale
    181e Bond Management
    181f Continuous Glucose Monitoring
    1820 Internet Protocol Support
    1821 Indoor Positioning
    1822 Pulse Oximeter
    1823 HTTP Proxy
    1824 Transport Discovery
    1825 Object Transfer
    1826 Fitness Machine
    1827 Mesh Provisioning
    1828 Mesh Proxy
    1829 Reconnection Configuration
    183a Insulin Delivery
    183b Binary Sensor
    183c Emergency Configuration
    183d Authorization Control
    183e Physical Activity Monitor
    183f Elapsed Time
    1840 Generic Health Sensor
    1843 Audio Input Control
    1844 Volume Control
    1845 Volume Offset Control
    1846 Coordinated Set Identification
    1847 Device Time
    1848 Media Control
    1849 Generic Media Control
    184a Constant Tone Extension
    184b Telephone Bearer
    184c Generic Telephone Bearer
    184d Microphone Control
    184e Audio Stream Control
    184f Broadcast Audio Scan
    1850 Published Audio Capabilities
    1851 Basic Audio Announcement
    1852 Broadcast Audio Announcement
    1853 Common Audio
    1854 Hearing Access
    1855 Telephony and Media Audio
    1856 Public Broadcast Announcement
    1857 Electronic Shelf Label
    1858 Gaming Audio
    1859 Mesh Proxy Solicitation
    fcb2 Apple, unwanted tracking (DULT)
    fcf1 Google
    fd3d SwitchBot
    fd44 Apple
    fd5a Samsung SmartTag
    fd6f Exposure Notification
    fd84 Tile
    fdcd Qingping
    fdf0 Audio Streaming for Hearing Aids
    fe07 Sonos
    fe0f Philips Hue
    fe24 August Home
    fe26 Google
    fe2c Google Fast Pair
    fe59 Nordic Secure DFU
    fe61 Logitech
    fe95 Xiaomi
    fe9a Estimote
    fe9f Google
    feaa Eddystone
    feaf Nest
    febe Bose
    fee0 Huami
    fee1 Huami
    fee7 Tencent
    feed Tile
    fef3 Google
    fef5 Dialog SUOTA
    fff6 Matter
    fffa ASTM Remote ID
    fffd FIDO
    """)

  /// Descriptors of characteristics by UUID.
  static let descriptors = table(
    """
    2900 Characteristic Extended Properties
    2901 Characteristic User Description
    2902 Client Characteristic Configuration
    2903 Server Characteristic Configuration
    2904 Characteristic Presentation Format
    2905 Characteristic Aggregate Format
    2906 Valid Range
    2907 External Report Reference
    2908 Report Reference
    2909 Number of Digitals
    290a Value Trigger Setting
    290b Environmental Sensing Configuration
    290c Environmental Sensing Measurement
    290d Environmental Sensing Trigger Setting
    290e Time Trigger Setting
    290f Complete BR-EDR Transport Block Data
    2910 Observation Schedule
    2911 Valid Range and Accuracy
    """)
}
