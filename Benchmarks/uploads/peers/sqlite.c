// Plain SQLite, as fast as it goes with the durability of our queue: a row like ours in each transaction, write-ahead log,
// synchronous=FULL. Prints rows a second.
//
//     sqlite FOLDER COUNT
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static sqlite3 *database;

static void check(int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(database));
  exit(1);
}

static void run(const char *text) { check(sqlite3_exec(database, text, NULL, NULL, NULL)); }

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int count = atoi(argv[2]);
  char path[4096], key[64];
  snprintf(path, sizeof path, "%s/plain.sqlite", argv[1]);
  check(sqlite3_open(path, &database));
  run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  run("CREATE TABLE item (id INTEGER PRIMARY KEY AUTOINCREMENT, bucket TEXT NOT NULL, key TEXT NOT NULL, "
      "account TEXT NOT NULL, path TEXT NOT NULL, fingerprint TEXT NOT NULL, size INTEGER NOT NULL, sha256 TEXT NOT NULL, "
      "contentType TEXT NOT NULL, metadata TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting', "
      "queuedAtMs INTEGER NOT NULL, UNIQUE (bucket, key)); CREATE INDEX itemByState ON item (state, id)");
  sqlite3_stmt *insert;
  const char *text =
      "INSERT INTO item (bucket, key, account, path, fingerprint, size, sha256, contentType, metadata, queuedAtMs) "
      "VALUES ('bench', ?, 'default', '/var/lib/recordings/one.wav', '2049:12345:5760044:1763800000.123456789', 5760044, "
      "'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'audio/wav', "
      "'{\"captured-at\":\"2026-11-22T00:45:00.250Z\",\"device\":\"FA:0B:00:00:00:01\"}', 1763800000123)";
  check(sqlite3_prepare_v2(database, text, -1, &insert, NULL));
  double begin = now();
  for (int number = 0; number < count; number++) {
    int length = snprintf(key, sizeof key, "ada/fa-0b-00-00-00-01/2026-11-22/%08d.wav", number);
    check(sqlite3_bind_text(insert, 1, key, length, SQLITE_TRANSIENT));
    check(sqlite3_step(insert));
    check(sqlite3_reset(insert));
  }
  printf("%.1f\n", count / (now() - begin));
  sqlite3_finalize(insert);
  return sqlite3_close(database) == SQLITE_OK ? 0 : 1;
}
