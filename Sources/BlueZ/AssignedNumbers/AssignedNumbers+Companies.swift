extension AssignedNumbers {
  /// The most frequent company identifiers, without legal forms.
  static let companies = table(
    """
    0000 Ericsson
    0001 Nokia Mobile Phones
    0002 Intel
    0004 Toshiba
    0006 Microsoft
    0008 Motorola
    0009 Infineon Technologies
    000a Qualcomm Technologies International
    000d Texas Instruments
    000f Broadcom
    0013 Atmel
    001d Qualcomm
    0022 NEC
    0025 NXP
    002a Symbol Technologies
    003f Bluetooth SIG
    0046 MediaTek
    004c Apple
    0055 Plantronics
    0056 Sony Ericsson Mobile Communications
    0057 Harman International Industries
    0059 Nordic Semiconductor
    005d Realtek Semiconductor
    0065 HP
    006b Polar
    0075 Samsung Electronics
    0077 Laird Connectivity
    0078 Nike
    0087 Garmin International
    0089 GN Hearing
    0094 Airoha Technology
    009e Bose
    00c4 LG Electronics
    00cc Beats Electronics
    00cd Microchip Technology
    00d2 Dialog Semiconductor
    00e0 Google
    0102 Keiser
    0103 Bang & Olufsen
    0107 Demant
    010f HiSilicon Technologies
    0118 Radius Networks
    011b Hewlett Packard Enterprise
    012d Sony
    0131 Cypress Semiconductor
    0133 Blue Maestro
    0143 Bkon
    0154 Pebble Technology
    0157 Anhui Huami Information Technology
    015d Estimote
    0171 Amazon.com Services
    01a9 Canon
    01ab Meta Platforms
    01d1 August Home
    01da Logitech International
    01dd Koninklijke Philips
    01f9 Medtronic
    020e Omron Healthcare
    0211 Telink Semiconductor
    0225 Nestlé Nespresso
    022b Tesla
    02b2 Oura Health
    02d0 3M
    02e1 Victron Energy
    02e5 Espressif Systems
    02ed HTC
    02ff Silicon Laboratories
    038f Xiaomi
    03c1 Ember Technologies
    03ff Withings
    041e Dell Computer
    0494 Sennheiser
    0499 Ruuvi Innovations
    04de Lutron Electronics
    05a7 Sonos
    0618 Audio-Technica
    0639 Shenzhen Minew Technologies
    0643 Makita
    067c Tile
    06d5 Sensirion
    072f OnePlus Electronics
    0757 ELA Innovation
    07a2 Roku
    07c9 Skullcandy
    07d0 Hangzhou Tuya Information Technology
    0822 Adafruit Industries
    0969 Woan Technology (SwitchBot)
    09a3 Arduino
    09c7 Combustion
    0a12 Dyson Technology
    0ba9 Allterco Robotics (Shelly)
    0c7c Mopeka Products
    0cc2 Anker Innovations
    ffff for tests
    """)
}
