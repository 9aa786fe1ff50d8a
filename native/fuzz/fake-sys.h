// A kernel of make-believe for fuzzing: its sockets hold what the script puts there, its time stands still.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "../src/sys.h"

namespace sluice::fake {

struct Arrival {
  std::vector<std::byte> bytes;
  sockaddr_in6 from{};
  socklen_t from_size = 0;
  std::vector<std::byte> control;
};

struct Socket {
  std::deque<Arrival> arrivals;
  int error = 0;            // of the next call that receives
  void* watcher = nullptr;  // who is told
  Address peer;             // when connected
};

struct Kernel {
  std::map<int, Socket> sockets;  // those that are open
  int last_fd = 2;
  int64_t now_us = 1'000'000'000;
  /** Nothing is ready: the script goes on. */
  std::function<void()> step;
  std::function<void(int socket, Arrival&)> on_receive;
  /** 0, or the errno that it fails with. */
  std::function<int(int socket, const msghdr&)> on_send;

  int open() {
    sockets[++last_fd];
    return last_fd;
  }
};

/** The one that the calls go to. */
extern Kernel* kernel;

}  // namespace sluice::fake
