// What the C clients and the server agree on, and how a client measures itself.
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define NAME "org.edgeblue.Bench"
#define PATH "/org/edgeblue/bench"
#define INTERFACE "org.edgeblue.Bench1"
#define OBJECT_MANAGER "org.freedesktop.DBus.ObjectManager"
#define WINDOW 64
#define ECHO_BYTES 512
#define TICK_BYTES 20
#define DEVICES 30

static inline double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline double cpu_seconds(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static inline void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

// The one line a client prints: operations, wall seconds, CPU seconds.
static inline void report(unsigned operations, double wall, double cpu) {
  printf("%u %.6f %.6f\n", operations, wall, cpu);
}
