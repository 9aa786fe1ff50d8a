// Sockets and epoll. Errors that the forwarder cannot cause end the process.
#pragma once
#include <netinet/in.h>
#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

inline constexpr int batch = 64;         // messages of one system call
inline constexpr int chunk = 256 * 1024; // bytes of one read or write
extern std::array<char, chunk> bytes;    // content of sent messages

class Poll {
 public:
  Poll();
  void add(int fd, uint32_t events, uint64_t data);
  void change(int fd, uint32_t events, uint64_t data);
  void remove(int fd);
  std::span<epoll_event> wait(int timeout_ms);

 private:
  int epoll_;
  std::array<epoll_event, 256> ready_{};
};

int dial(const sockaddr_in& to, int receive_buffer = 0); // blocking; 0: the system chooses the size
/** Blocking, from any local port. Returns -1 if it fails. */
int dial_plain(const sockaddr_in& to);
/** Starts to connect, rotating over 16 local addresses so that ports suffice. Returns -1 if it fails at once. */
int dial_nonblocking(const sockaddr_in& to);
void unblock(int fd);
void block(int fd, double timeout_secs);
/** `port`: a fixed port of 127.0.0.2, so that a later run uses the same flow; 0: any port of 127.0.0.1. */
int connected_udp(const sockaddr_in& to, int port);
/** TCP: listens. UDP: sets a large buffer. Binds to 127.0.0.1 by default. */
int bind_local(int type, int port, in_addr address = {});
