// A fake kernel for fuzzing: the fuzzer fills its sockets and moves its clock.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "../src/sys.h"

namespace sluice::fake {

/** A datagram that waits to be received. */
struct Arrival {
  std::vector<std::byte> bytes;
  sockaddr_in6 from{};
  socklen_t from_size = 0;
  std::vector<std::byte> control;
};

struct Socket {
  std::deque<Arrival> arrivals;
  int error = 0;            // returned by the next receive
  std::optional<uint64_t> watcher;  // the epoll data
  Address target;           // when connected
};

struct Kernel {
  std::map<int, Socket> sockets;  // open ones
  int last_fd = 2;
  int64_t now_us = 1'000'000'000;
  /** Called when nothing is ready: the fuzzer's next step. */
  std::function<void()> step;
  std::function<void(int socket, Arrival&)> on_receive;
  std::function<void(int socket, int error)> on_receive_error;
  /** Returns 0 or a positive errno. */
  std::function<int(int socket, const msghdr&)> on_send;

  int open() {
    sockets[++last_fd];
    return last_fd;
  }
};

/** The kernel on which the system calls of `fake-sys.cc` act. */
extern Kernel* kernel;

}  // namespace sluice::fake
