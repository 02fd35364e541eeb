#pragma once
// The Linux calls that Swift's Glibc module leaves out: events and timers as file descriptors.
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

// Declared by <pthread.h> and <unistd.h> only under _GNU_SOURCE, which the Glibc module is not built with.
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pipe2(int ends[2], int flags);
