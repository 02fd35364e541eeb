#pragma once
// libdbus-1, and the two Linux calls its event loop needs that Glibc's overlay leaves out.
#include <dbus/dbus.h>
#include <sys/eventfd.h>
