// Sockets and readiness, as far as the modes need them. Trouble that is not the forwarder's ends the process.
#pragma once
#include <netinet/in.h>
#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

inline constexpr int batch = 64;         // messages of one system call
inline constexpr int chunk = 256 * 1024; // bytes of one read or write
extern std::array<char, chunk> bytes;    // what is said; what is heard is thrown away

class Poll {
 public:
  Poll();
  void add(int fd, uint32_t events, uint64_t data);
  void change(int fd, uint32_t events, uint64_t data);
  std::span<epoll_event> wait(int timeout_ms);

 private:
  int epoll_;
  std::array<epoll_event, 256> ready_{};
};

int dial(const sockaddr_in& to); // blocking
/** Does not wait. From 16 local addresses in turn, so that ports do not run short; -1 where it failed at once. */
int dial_soon(const sockaddr_in& to);
void unblock(int fd);
void block(int fd, double timeout_secs);
/** `port`: of 127.0.0.2, so that a later run is the same flow to a forwarder; 0: any of 127.0.0.1. */
int connected_udp(const sockaddr_in& to, int port);
int bound(int type, int port); // of 127.0.0.1, with large buffers
