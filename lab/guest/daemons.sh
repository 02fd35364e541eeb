# The guest's daemons: how each is started, stopped and waited for. Sourced by guest-init and lab-fault, after the job
# that the runner wrote (runner/job.py): it says how many CONTROLLERS there are and defines run_controllers
# and run_bluetoothd.
# shellcheck shell=sh

STATE=/run/radio-lab

# How many seconds a daemon has to get ready: Bumble's controllers take ten where the emulated CPU has a processor of the
# host for itself. What boots a guest has a limit of its own.
READY_LIMIT=150

# poll SECONDS COMMAND… : until COMMAND succeeds. Short naps: every one of them delays the user's command.
poll() {
  deadline=$(($(uptime_seconds) + $1)); shift
  until "$@"; do
    [ "$(uptime_seconds)" -le "$deadline" ] || return 1
    sleep 0.02
  done
}
uptime_seconds() { cut -d. -f1 /proc/uptime; }

# A killed child stays a zombie until process 1 gets round to it, and a zombie still has a /proc entry.
is_running() {
  [ -s "$STATE/$1.pid" ] && { read -r _ _ state _ < "/proc/$(cat "$STATE/$1.pid")/stat"; } 2> /dev/null && [ "$state" != Z ]
}
is_gone() { ! is_running "$1"; }

# signal NAME SIGNAL
signal() { is_running "$1" && kill -s "$2" "$(cat "$STATE/$1.pid")"; }

start_dbus() {
  # With --fork the command returns once the bus listens.
  dbus-daemon --system --fork --nopidfile --print-pid > "$STATE/bus.pid"
}

start_controllers() {
  run_controllers > /lab/controllers.log 2>&1 &
  echo $! > "$STATE/controllers.pid"
  poll $READY_LIMIT controllers_settled && is_running controllers
}
controllers_settled() { [ -e "/sys/class/bluetooth/hci$((CONTROLLERS - 1))" ] || is_gone controllers; }
explain_controllers() { echo "there are no $CONTROLLERS controllers: $(tail -n 3 /lab/controllers.log)"; }

start_bluetoothd() {
  run_bluetoothd >> /lab/bluetoothd.log 2>&1 &
  echo $! > "$STATE/bluetoothd.pid"
  # bluetoothd owns its name before its adapters exist, and an adapter exists before it can advertise.
  poll $READY_LIMIT bluetoothd_settled && is_running bluetoothd && poll $READY_LIMIT adapters_are_ready
}
bluetoothd_settled() { bluez_has_name || is_gone bluetoothd; }
bluez_has_name() {
  dbus-send --system --print-reply=literal --dest=org.freedesktop.DBus / \
    org.freedesktop.DBus.NameHasOwner string:org.bluez 2> /dev/null | grep -q true
}
adapters_are_ready() {
  [ "$CONTROLLERS" = 0 ] || [ "$(dbus-send --system --print-reply --dest=org.bluez / \
    org.freedesktop.DBus.ObjectManager.GetManagedObjects 2> /dev/null | grep -c '"org.bluez.LEAdvertisingManager1"')" -ge "$CONTROLLERS" ]
}
explain_bluetoothd() {
  is_running bluetoothd && echo "bluetoothd shows no $CONTROLLERS adapters that can advertise" && return
  echo "bluetoothd ended: $(tail -n 3 /lab/bluetoothd.log)"
}

start_capture() {
  btmon -w "$1" > /dev/null 2>&1 &
  echo $! > "$STATE/capture.pid"
  poll 10 capture_settled "$1" && is_running capture
}
capture_settled() { [ -s "$1" ] || is_gone capture; }
stop_capture() {
  signal capture TERM && poll 5 is_gone capture
  rm -f "$STATE/capture.pid"
}
