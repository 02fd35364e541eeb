// server PORT [CERTIFICATE KEY]: an RMBT server of the raw variant on 127.0.0.1, one thread for each connection.
#include "rmbt.h"

static SSL_CTX *context;
static unsigned char *pool;

static int sends_chunks(line_t *l, int size, long count, double seconds) {
  uint64_t start = now();
  for (long n = 1;; n++) {
    int last = count ? n == count : now() - start >= seconds * 1e9;
    unsigned char marker = last ? 0xff : 0;
    // The marker apart: threads share the pool.
    if (!send_all(l, pool, size - 1) || !send_all(l, &marker, 1)) return 0;
    if (last) break;
  }
  char line[256];
  if (!read_line(l, line, sizeof line)) return 0;
  snprintf(line, sizeof line, "TIME %llu\n", (unsigned long long)(now() - start));
  return say(l, line) && say(l, commands);
}

static int receives_chunks(line_t *l, int size, int reports) {
  if (!say(l, "OK\n")) return 0;
  unsigned char *buffer = malloc(BUFFER);
  uint64_t start = now(), total = 0, reported = 0;
  char line[256];
  for (int last = 0; !last;) {
    int got = receive_some(l, buffer, BUFFER);
    if (got <= 0) break;
    last = is_last(buffer, got, total, size);
    total += got;
    uint64_t time = now();
    if (reports && (!reported || time - reported >= 1000000)) {
      reported = time;
      snprintf(line, sizeof line, "TIME %llu BYTES %llu\n", (unsigned long long)(time - start), (unsigned long long)total);
      if (!say(l, line)) break;
    }
  }
  free(buffer);
  snprintf(line, sizeof line, "TIME %llu\n", (unsigned long long)(now() - start));
  return say(l, line) && say(l, commands);
}

static void *serve(void *argument) {
  line_t l = {.socket = (int)(intptr_t)argument};
  char line[2048];
  int size = 4096, given;
  long count;
  if (context) {
    l.tls = SSL_new(context);
    SSL_set_fd(l.tls, l.socket);
    if (SSL_accept(l.tls) != 1) goto end;
  }
  if (!say(&l, "RMBTv1.3.5\nACCEPT TOKEN QUIT\n") || !read_line(&l, line, sizeof line) || strncmp(line, "TOKEN ", 6)) goto end;
  if (!say(&l, "OK\nCHUNKSIZE 4096 4096 4194304\n") || !say(&l, commands)) goto end;
  while (read_line(&l, line, sizeof line)) {
    int goes_on = 1;
    if (sscanf(line, "GETCHUNKS %ld %d", &count, &given) >= 1) {
      if (sscanf(line, "GETCHUNKS %ld %d", &count, &given) == 2) size = given;
      goes_on = sends_chunks(&l, size, count, 0);
    } else if (sscanf(line, "GETTIME %ld %d", &count, &given) >= 1) {
      if (sscanf(line, "GETTIME %ld %d", &count, &given) == 2) size = given;
      goes_on = sends_chunks(&l, size, 0, count);
    } else if (!strncmp(line, "PUTNORESULT", 11)) {
      if (sscanf(line, "PUTNORESULT %d", &given) == 1) size = given;
      goes_on = receives_chunks(&l, size, 0);
    } else if (!strncmp(line, "PUT", 3)) {
      if (sscanf(line, "PUT %d", &given) == 1) size = given;
      goes_on = receives_chunks(&l, size, 1);
    } else if (!strcmp(line, "PING")) {
      uint64_t start = now();
      if (!say(&l, "PONG\n") || !read_line(&l, line, sizeof line)) break;
      snprintf(line, sizeof line, "TIME %llu\n", (unsigned long long)(now() - start));
      goes_on = say(&l, line) && say(&l, commands);
    } else {
      say(&l, "BYE\n");
      break;
    }
    if (!goes_on) break;
  }
end:
  if (l.tls) SSL_free(l.tls);
  close(l.socket);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 4) fail("server PORT [CERTIFICATE KEY]");
  signal(SIGPIPE, SIG_IGN);
  pool = noise(SIZE_MAX_CHUNK);
  if (argc == 4) {
    context = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(context, argv[2]) != 1 || SSL_CTX_use_PrivateKey_file(context, argv[3], SSL_FILETYPE_PEM) != 1) fail("the certificate");
  }
  int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) fail("listen");
  for (;;) {
    int one = accept(listener, NULL, NULL);
    if (one < 0) continue;
    setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)one)) close(one);
    else pthread_detach(thread);
  }
}
