// An LD_PRELOAD library that simulates a system without memory for watches (fs.epoll.max_user_watches), except in the
// first thread. WATCH_NO=connections refuses watches of connected streams, WATCH_NO=listener the first watch of a
// datagram socket.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int option(int fd, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, name, &value, &size) < 0 ? -1 : value;
}

static int is_refused(int fd) {
  static atomic_int listeners;
  const char* what = getenv("WATCH_NO");
  if (!what || gettid() == getpid()) return 0;
  if (strcmp(what, "connections") == 0) return option(fd, SO_TYPE) == SOCK_STREAM && option(fd, SO_ACCEPTCONN) == 0;
  return option(fd, SO_TYPE) == SOCK_DGRAM && atomic_fetch_add(&listeners, 1) == 0;
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event* event) {
  if (operation == EPOLL_CTL_ADD && is_refused(fd)) {
    errno = ENOSPC;
    return -1;
  }
  int (*real)(int, int, int, struct epoll_event*) = dlsym(RTLD_NEXT, "epoll_ctl");
  return real(epoll, operation, fd, event);
}
