// client PORT THREADS SECONDS SIZE [tls]: an RMBT client of the raw variant at 127.0.0.1, one thread for each connection.
// Prints one JSON object: bits per second of both directions, by the first connection that ended.
#include "rmbt.h"

typedef struct {
  line_t line;
  int seconds, size;
  uint64_t down_time, down, up_time, up;
} thread_t;

static pthread_barrier_t barrier;
static unsigned char *pool;

static void expect(line_t *l, const char *word) {
  char line[2048];
  do {
    if (!read_line(l, line, sizeof line)) fail("the server closed the connection");
  } while (!*line);
  if (strncmp(line, word, strlen(word))) fail(line);
}

static void *download(void *argument) {
  thread_t *t = argument;
  unsigned char *buffer = malloc(BUFFER);
  char line[256];
  pthread_barrier_wait(&barrier);
  uint64_t start = now();
  snprintf(line, sizeof line, "GETTIME %d %d\n", t->seconds, t->size);
  say(&t->line, line);
  for (int last = 0; !last;) {
    int got = receive_some(&t->line, buffer, BUFFER);
    if (got <= 0) fail("the download broke off");
    last = is_last(buffer, got, t->down, t->size);
    t->down += got;
  }
  t->down_time = now() - start;
  say(&t->line, "OK\n");
  expect(&t->line, "TIME");
  expect(&t->line, "ACCEPT");
  free(buffer);
  return NULL;
}

// Reads the reports; the newest one with bytes counts.
static void *reports(void *argument) {
  thread_t *t = argument;
  char line[256];
  unsigned long long time, bytes;
  while (read_line(&t->line, line, sizeof line)) {
    int fields = sscanf(line, "TIME %llu BYTES %llu", &time, &bytes);
    if (fields == 2) t->up_time = time, t->up = bytes;
    if (fields == 1) return NULL;
  }
  fail("the upload broke off");
  return NULL;
}

static void *upload(void *argument) {
  thread_t *t = argument;
  char line[256];
  pthread_t reader;
  snprintf(line, sizeof line, "PUT %d\n", t->size);
  pthread_barrier_wait(&barrier);
  say(&t->line, line);
  expect(&t->line, "OK");
  // A TLS connection of OpenSSL is not for two threads: its reports wait until everything is sent.
  if (!t->line.tls) pthread_create(&reader, NULL, reports, t);
  uint64_t start = now();
  for (int last = 0; !last;) {
    last = now() - start >= t->seconds * 1000000000ull;
    unsigned char marker = last ? 0xff : 0;
    if (!send_all(&t->line, pool, t->size - 1) || !send_all(&t->line, &marker, 1)) fail("the upload broke off");
  }
  if (t->line.tls) reports(t);
  else pthread_join(reader, NULL);
  expect(&t->line, "ACCEPT");
  return NULL;
}

static void run(thread_t *threads, int count, void *(*work)(void *)) {
  pthread_t ids[128];
  for (int i = 0; i < count; i++) pthread_create(&ids[i], NULL, work, &threads[i]);
  for (int i = 0; i < count; i++) pthread_join(ids[i], NULL);
}

int main(int argc, char **argv) {
  if (argc < 5) fail("client PORT THREADS SECONDS SIZE [tls]");
  signal(SIGPIPE, SIG_IGN);
  int count = atoi(argv[2]), on = 1;
  if (count < 1 || count > 128) fail("1 to 128 threads");
  SSL_CTX *context = argc > 5 ? SSL_CTX_new(TLS_client_method()) : NULL;
  pool = noise(SIZE_MAX_CHUNK);
  pthread_barrier_init(&barrier, NULL, count);
  thread_t *threads = calloc(count, sizeof *threads);
  for (int i = 0; i < count; i++) {
    line_t *l = &threads[i].line;
    threads[i].seconds = atoi(argv[3]);
    threads[i].size = atoi(argv[4]);
    l->socket = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(l->socket, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(l->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (context) {
      l->tls = SSL_new(context);
      SSL_set_fd(l->tls, l->socket);
      if (SSL_connect(l->tls) != 1) fail("TLS");
    }
    expect(l, "RMBTv");
    expect(l, "ACCEPT TOKEN");
    say(l, "TOKEN none\n");
    expect(l, "OK");
    expect(l, "CHUNKSIZE");
    expect(l, "ACCEPT");
  }
  run(threads, count, download);
  run(threads, count, upload);
  // Beside one another within a fraction of a millisecond; the sums stand for the formula of the clients.
  double down = 0, up = 0;
  for (int i = 0; i < count; i++) {
    down += 8e9 * threads[i].down / threads[i].down_time;
    up += threads[i].up_time ? 8e9 * threads[i].up / threads[i].up_time : 0;
    say(&threads[i].line, "QUIT\n");
  }
  printf("{\"download\": %.0f, \"upload\": %.0f}\n", down, up);
  return 0;
}
