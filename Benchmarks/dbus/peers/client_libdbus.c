// C libdbus client, the yardstick:  client_libdbus ADDRESS CASE COUNT
#include "bench.h"
#include <dbus/dbus.h>

static DBusConnection *bus;
static unsigned outstanding, done, sum, ticks;
static uint8_t payload[ECHO_BYTES];

static DBusMessage *call(const char *member) {
  return dbus_message_new_method_call(NAME, PATH, INTERFACE, member);
}

static void step(void) {
  if (!dbus_connection_read_write_dispatch(bus, -1)) fail("dispatch", "disconnected");
}

static void check_reply(DBusMessage *reply) {
  if (dbus_message_get_type(reply) == DBUS_MESSAGE_TYPE_ERROR) fail("call", dbus_message_get_error_name(reply));
}

static void on_reply(DBusPendingCall *pending, void *want_bytes) {
  DBusMessage *reply = dbus_pending_call_steal_reply(pending);
  check_reply(reply);
  if (want_bytes) {
    const uint8_t *bytes;
    int count;
    if (!dbus_message_get_args(reply, NULL, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &bytes, &count, DBUS_TYPE_INVALID) ||
        count != ECHO_BYTES)
      fail("echo", "wrong reply");
  }
  dbus_message_unref(reply);
  dbus_pending_call_unref(pending);
  outstanding--;
  done++;
}

static void send_call(DBusMessage *m, void *want_bytes) {
  DBusPendingCall *pending;
  if (!dbus_connection_send_with_reply(bus, m, &pending, -1) || !pending) fail("send", "failed");
  dbus_pending_call_set_notify(pending, on_reply, want_bytes, NULL);
  dbus_message_unref(m);
  outstanding++;
}

static void concurrent(unsigned count, int echo, unsigned window) {
  unsigned sent = 0;
  done = 0;
  while (done < count) {
    while (sent < count && outstanding < window) {
      DBusMessage *m = call(echo ? "Echo" : "Ping");
      const uint8_t *bytes = payload;
      if (echo) dbus_message_append_args(m, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &bytes, ECHO_BYTES, DBUS_TYPE_INVALID);
      send_call(m, echo ? payload : NULL);
      sent++;
    }
    step();
  }
}

// Reads every value of a message once, as a client that fills a cache must.
static void walk(DBusMessageIter *at) {
  for (int type; (type = dbus_message_iter_get_arg_type(at)) != DBUS_TYPE_INVALID; dbus_message_iter_next(at)) {
    if (dbus_type_is_container(type)) {
      DBusMessageIter inner;
      dbus_message_iter_recurse(at, &inner);
      walk(&inner);
    } else {
      DBusBasicValue value;
      dbus_message_iter_get_basic(at, &value);
      sum++;
    }
  }
}

static void managed(unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    DBusMessage *m = call("Managed");
    DBusMessage *reply = dbus_connection_send_with_reply_and_block(bus, m, -1, NULL);
    if (!reply) fail("Managed", "no reply");
    DBusMessageIter at;
    dbus_message_iter_init(reply, &at);
    walk(&at);
    dbus_message_unref(m);
    dbus_message_unref(reply);
  }
}

static DBusHandlerResult on_signal(DBusConnection *connection, DBusMessage *m, void *data) {
  (void)connection, (void)data;
  if (!dbus_message_is_signal(m, INTERFACE, "Tick")) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
  uint32_t number;
  const uint8_t *bytes;
  int count;
  if (!dbus_message_get_args(m, NULL, DBUS_TYPE_UINT32, &number, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &bytes, &count,
                             DBUS_TYPE_INVALID) ||
      number != ticks++ || count != TICK_BYTES)
    fail("signals", "out of order");
  return DBUS_HANDLER_RESULT_HANDLED;
}

static void signals(unsigned count) {
  dbus_uint32_t wanted = count;
  DBusMessage *m = call("Burst");
  dbus_message_append_args(m, DBUS_TYPE_UINT32, &wanted, DBUS_TYPE_INVALID);
  ticks = 0;
  send_call(m, NULL);
  while (ticks < count || outstanding > 0) step();
}

static void run(const char *name, unsigned count) {
  if (!strcmp(name, "ping")) concurrent(count, 0, 1);
  else if (!strcmp(name, "ping64")) concurrent(count, 0, WINDOW);
  else if (!strcmp(name, "echo64")) concurrent(count, 1, WINDOW);
  else if (!strcmp(name, "managed")) managed(count);
  else if (!strcmp(name, "signals")) signals(count);
  else fail(name, "no such case");
}

int main(int argc, char **argv) {
  if (argc != 4) fail("usage", "client_libdbus ADDRESS CASE COUNT");
  unsigned count = (unsigned)atoi(argv[3]);
  DBusError error = DBUS_ERROR_INIT;
  bus = dbus_connection_open_private(argv[1], &error);
  if (!bus || !dbus_bus_register(bus, &error)) fail("connect", error.message);
  dbus_bus_add_match(bus, "type='signal',sender='" NAME "',interface='" INTERFACE "',member='Tick'", &error);
  if (dbus_error_is_set(&error)) fail("match", error.message);
  dbus_connection_add_filter(bus, on_signal, NULL, NULL);
  run(argv[2], count / 10 + 1);
  double wall = seconds(), cpu = cpu_seconds();
  run(argv[2], count);
  report(count, seconds() - wall, cpu_seconds() - cpu);
  dbus_connection_close(bus);
  dbus_connection_unref(bus);
}
