// The one server every client is measured against: sd-bus, single-threaded, the cheapest there is.
//   server ADDRESS    prints "ready" when it owns its name
#include "bench.h"
#include <systemd/sd-bus.h>

static int ping(sd_bus_message *m, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  return sd_bus_reply_method_return(m, "");
}

static int echo(sd_bus_message *m, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  const void *bytes;
  size_t count;
  int r = sd_bus_message_read_array(m, 'y', &bytes, &count);
  if (r < 0) return r;
  sd_bus_message *reply = NULL;
  r = sd_bus_message_new_method_return(m, &reply);
  if (r >= 0) r = sd_bus_message_append_array(reply, 'y', bytes, count);
  if (r >= 0) r = sd_bus_send(NULL, reply, NULL);
  sd_bus_message_unref(reply);
  return r;
}

// Sends `count` ticks, then answers, so that the reply is the last thing a client sees.
static int burst(sd_bus_message *m, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  uint32_t count;
  int r = sd_bus_message_read(m, "u", &count);
  uint8_t bytes[TICK_BYTES] = {0};
  for (uint32_t i = 0; r >= 0 && i < count; i++) {
    sd_bus_message *tick = NULL;
    memcpy(bytes, &i, sizeof i);
    r = sd_bus_message_new_signal(sd_bus_message_get_bus(m), &tick, PATH, INTERFACE, "Tick");
    if (r >= 0) r = sd_bus_message_append(tick, "u", i);
    if (r >= 0) r = sd_bus_message_append_array(tick, 'y', bytes, sizeof bytes);
    if (r >= 0) r = sd_bus_send(NULL, tick, NULL);
    sd_bus_message_unref(tick);
  }
  return r < 0 ? r : sd_bus_reply_method_return(m, "");
}

static int add_device(sd_bus_message *m, int i) {
  char path[64], address[18];
  snprintf(address, sizeof address, "C0:FF:EE:00:00:%02X", (unsigned)i & 0xff);
  snprintf(path, sizeof path, "/org/bluez/hci0/dev_C0_FF_EE_00_00_%02X", (unsigned)i & 0xff);
  return sd_bus_message_append(
      m, "{oa{sa{sv}}}", path, 1, "org.bluez.Device1", 15,
      "Address", "s", address, "AddressType", "s", "random", "Name", "s", "EdgeCoder-phone-01",
      "Alias", "s", "EdgeCoder-phone-01", "Paired", "b", 0, "Bonded", "b", 0, "Trusted", "b", 0, "Blocked", "b", 0,
      "LegacyPairing", "b", 0, "RSSI", "n", -60 - i, "Connected", "b", 1,
      "UUIDs", "as", 3, "00001800-0000-1000-8000-00805f9b34fb", "00001801-0000-1000-8000-00805f9b34fb",
      "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d",
      "Adapter", "o", "/org/bluez/hci0", "ServicesResolved", "b", 1,
      "ManufacturerData", "a{qv}", 1, 0x004c, "ay", 8, 2, 21, 1, 2, 3, 4, 5, 6);
}

static int managed(sd_bus_message *m, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  sd_bus_message *reply = NULL;
  int r = sd_bus_message_new_method_return(m, &reply);
  if (r >= 0) r = sd_bus_message_open_container(reply, 'a', "{oa{sa{sv}}}");
  for (int i = 0; r >= 0 && i < DEVICES; i++) r = add_device(reply, i);
  if (r >= 0) r = sd_bus_message_close_container(reply);
  if (r >= 0) r = sd_bus_send(NULL, reply, NULL);
  sd_bus_message_unref(reply);
  return r;
}

static const sd_bus_vtable bench_vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Ping", "", "", ping, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Echo", "ay", "ay", echo, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Burst", "u", "", burst, SD_BUS_VTABLE_UNPRIVILEGED),
    // Under our own interface: sd-bus keeps the standard one for itself.
    SD_BUS_METHOD("Managed", "", "a{oa{sa{sv}}}", managed, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_SIGNAL("Tick", "uay", 0),
    SD_BUS_VTABLE_END,
};

int main(int argc, char **argv) {
  if (argc != 2) fail("usage", "server ADDRESS");
  sd_bus *bus = NULL;
  int r = sd_bus_new(&bus);
  if (r >= 0) r = sd_bus_set_address(bus, argv[1]);
  if (r >= 0) r = sd_bus_set_bus_client(bus, 1);
  if (r >= 0) r = sd_bus_start(bus);
  if (r >= 0) r = sd_bus_add_object_vtable(bus, NULL, PATH, INTERFACE, bench_vtable, NULL);
  if (r >= 0) r = sd_bus_request_name(bus, NAME, 0);
  if (r < 0) fail("start", strerror(-r));
  puts("ready");
  fflush(stdout);
  for (;;) {
    r = sd_bus_process(bus, NULL);
    if (r == 0) r = sd_bus_wait(bus, UINT64_MAX);
    // The bus going away is how a run ends.
    if (r < 0) return r == -ECONNRESET || r == -ENOTCONN ? 0 : 1;
  }
}
