#pragma once
// The Linux calls that Swift's Glibc module leaves out: events and timers as file descriptors, core dumps, spawning,
// renaming without replacing, addresses of netlink.
#include <linux/netlink.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

// Declared by <pthread.h>, <spawn.h>, <stdio.h> and <unistd.h> only under _GNU_SOURCE, which the Glibc module is not
// built with.
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int posix_spawn_file_actions_addclosefrom_np(void *actions, int from);
extern int pipe2(int ends[2], int flags);
extern int renameat2(int folder, const char *name, int newFolder, const char *newName, unsigned int flags);
// RENAME_NOREPLACE: <stdio.h> has it only under _GNU_SOURCE, too, and <linux/fs.h> has many other names.
static const unsigned int edgeblue_rename_noreplace = 1;

// Swift cannot call functions with a variable number of arguments.
#include <sys/prctl.h>
static inline int edgeblue_set_dumpable(int dumpable) { return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0); }
static inline int edgeblue_is_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }
