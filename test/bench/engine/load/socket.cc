#include "socket.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "measure.h"

std::array<char, chunk> bytes;

namespace {

const sockaddr* to_sockaddr(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }

void set(int fd, int level, int name, int value) { setsockopt(fd, level, name, &value, sizeof value); }

int open_socket(int type) {
  const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
  if (fd < 0) die("socket");
  return fd;
}

} // namespace

Poll::Poll() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) die("epoll_create1");
}

void Poll::add(int fd, uint32_t events, uint64_t data) {
  epoll_event event{.events = events, .data = {.u64 = data}};
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) die("epoll_ctl");
}

void Poll::change(int fd, uint32_t events, uint64_t data) {
  epoll_event event{.events = events, .data = {.u64 = data}};
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) != 0) die("epoll_ctl");
}

void Poll::remove(int fd) {
  if (epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr) != 0) die("epoll_ctl");
}

std::span<epoll_event> Poll::wait(int timeout_ms) {
  const int count = epoll_wait(epoll_, ready_.data(), static_cast<int>(ready_.size()), timeout_ms);
  return {ready_.data(), static_cast<size_t>(count < 0 ? 0 : count)};
}

int dial(const sockaddr_in& to, int receive_buffer) {
  const int fd = open_socket(SOCK_STREAM);
  if (receive_buffer > 0) set(fd, SOL_SOCKET, SO_RCVBUF, receive_buffer);
  if (connect(fd, to_sockaddr(to), sizeof to) != 0) die("connect");
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  return fd;
}

int dial_plain(const sockaddr_in& to) {
  const int fd = open_socket(SOCK_STREAM);
  if (connect(fd, to_sockaddr(to), sizeof to) == 0) return fd;
  close(fd);
  return -1;
}

int dial_nonblocking(const sockaddr_in& to) {
  static unsigned next_address = 0;
  const int fd = open_socket(SOCK_STREAM | SOCK_NONBLOCK);
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  sockaddr_in from{};
  from.sin_family = AF_INET;
  from.sin_addr.s_addr = htonl(0x7f000002U + (next_address++ & 15));
  if (bind(fd, to_sockaddr(from), sizeof from) != 0) die("bind");
  if (connect(fd, to_sockaddr(to), sizeof to) == 0 || errno == EINPROGRESS) return fd;
  close(fd);
  return -1;
}

void unblock(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

void block(int fd, double timeout_secs) {
  const timeval timeout{static_cast<time_t>(timeout_secs), 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

int connected_udp(const sockaddr_in& to, int port) {
  const int fd = open_socket(SOCK_DGRAM | SOCK_NONBLOCK);
  sockaddr_in from{};
  from.sin_family = AF_INET;
  from.sin_addr.s_addr = htonl(port == 0 ? INADDR_LOOPBACK : 0x7f000002U);
  from.sin_port = htons(static_cast<uint16_t>(port));
  if (bind(fd, to_sockaddr(from), sizeof from) != 0) die("bind");
  set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20);
  if (connect(fd, to_sockaddr(to), sizeof to) != 0) die("connect");
  return fd;
}

int bind_local(int type, int port, in_addr address) {
  const int fd = open_socket(type | SOCK_NONBLOCK);
  set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (type == SOCK_DGRAM) set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20);
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = address.s_addr != 0 ? address.s_addr : htonl(INADDR_LOOPBACK);
  local.sin_port = htons(static_cast<uint16_t>(port));
  if (bind(fd, to_sockaddr(local), sizeof local) != 0) die("bind");
  if (type == SOCK_STREAM) set(fd, IPPROTO_TCP, TCP_NODELAY, 1); // accepted sockets inherit it
  if (type == SOCK_STREAM && listen(fd, 4096) != 0) die("listen");
  return fd;
}
