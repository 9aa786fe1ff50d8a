#include "sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "udp-sys.h"

namespace sluice {

void Fd::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

namespace sys {

namespace {

constexpr int kBacklog = 4096;
constexpr long kEpollPwait2 = 441;  // since Linux 5.11; older C libraries have no wrapper
constexpr int kKeepIdleS = 60;
constexpr int kKeepIntervalS = 10;
constexpr int kUdpBufferBytes = 4 << 20;

int result(int code) { return code < 0 ? -errno : code; }
ssize_t result_of(ssize_t code) { return code < 0 ? -errno : code; }

int set(int socket, int level, int name, int value) {
  return result(setsockopt(socket, level, name, &value, sizeof value));
}

int open_socket(const Address& address, int type, Fd& socket) {
  const int family = address.family == Family::v6 ? AF_INET6 : AF_INET;
  const int fd = ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  socket = Fd(fd);
  return 0;
}

/** Sets what every connection has: segments leave at once, and urgent data is part of the stream. */
void set_stream_options(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_OOBINLINE, 1);
}

int bind_address(int socket, const Address& address) {
  sockaddr_storage raw{};
  const socklen_t size = address.to(raw);
  return result(bind(socket, reinterpret_cast<sockaddr*>(&raw), size));
}

/** Exceeds net.core.rmem_max and wmem_max if the process has CAP_NET_ADMIN. */
void set_buffer(int socket, int forced, int limited, int bytes) {
  if (set(socket, SOL_SOCKET, forced, bytes) < 0) set(socket, SOL_SOCKET, limited, bytes);
}

void set_datagram_options(int socket, Family family) {
  set_buffer(socket, SO_RCVBUFFORCE, SO_RCVBUF, kUdpBufferBytes);
  set_buffer(socket, SO_SNDBUFFORCE, SO_SNDBUF, kUdpBufferBytes);
  allow_fragments(socket, family);
  if (family == Family::v6)
    set(socket, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
  else
    set(socket, IPPROTO_IP, IP_PKTINFO, 1);
}

}  // namespace

int listen_on(Protocol protocol, const Address& address, Sharing sharing, Fd& socket) {
  const bool is_stream = protocol == Protocol::tcp;
  if (const int error = open_socket(address, is_stream ? SOCK_STREAM : SOCK_DGRAM, socket)) return error;
  const int fd = socket.get();
  // Not for UDP, where SO_REUSEADDR would let a second socket steal the port (socket(7)).
  if (is_stream) set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (sharing == Sharing::shared) set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
  if (address.family == Family::v6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (is_stream) {
    // Accepted sockets inherit all options.
    set_stream_options(fd);
    keep_alive(fd);
  } else {
    set_datagram_options(fd, address.family);
  }
  if (const int error = bind_address(fd, address)) return error;
  return is_stream ? result(listen(fd, kBacklog)) : 0;
}

int accept_from(int listener, Address& caller, Fd& socket) {
  sockaddr_storage raw{};
  socklen_t size = sizeof raw;
  const int fd = accept4(listener, reinterpret_cast<sockaddr*>(&raw), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return -errno;
  socket = Fd(fd);
  caller = Address::from(raw);
  return 0;
}

Address local_address(int socket) {
  sockaddr_storage raw{};
  socklen_t size = sizeof raw;
  return getsockname(socket, reinterpret_cast<sockaddr*>(&raw), &size) < 0 ? Address{} : Address::from(raw);
}

int bind_source(int socket, const Address& from) {
  // Without it, one local port would serve one target at a time (ip(7)).
  set(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  const int error = bind_address(socket, from.with_port(0));
  return error == -EADDRNOTAVAIL ? kNoSuchSource : error;
}

int connect_to(const Address& target, const Address* from, Fd& socket) {
  if (const int error = open_socket(target, SOCK_STREAM, socket)) return error;
  if (from != nullptr)
    if (const int error = bind_source(socket.get(), *from)) return error;
  set_stream_options(socket.get());
  sockaddr_storage raw{};
  const socklen_t size = target.to(raw);
  const int error = result(connect(socket.get(), reinterpret_cast<sockaddr*>(&raw), size));
  return error == -EINPROGRESS ? 0 : error;
}

int open_pair(Fd& one, Fd& other) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
  one = Fd(ends[0]);
  other = Fd(ends[1]);
  return 0;
}

TcpFigures tcp_figures(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) < 0) return {};
  return {info.tcpi_rtt, info.tcpi_total_retrans};
}

void keep_alive(int socket) {
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleS);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepIntervalS);
}

int socket_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return errno;
  return error;
}

void arm_reset(int socket) {
  const linger now{1, 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

int shut_write(int socket) { return result(shutdown(socket, SHUT_WR)); }

int64_t unacknowledged(int socket) {
  int bytes = 0;
  return ioctl(socket, SIOCOUTQ, &bytes) < 0 ? 0 : bytes;  // a failed socket sends nothing
}

Unanswered unanswered(int socket) {
  const int64_t bytes = unacknowledged(socket);
  if (bytes == 0) return {};
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) < 0) return {};
  return {bytes, static_cast<int16_t>(info.tcpi_retransmits + info.tcpi_probes)};
}

ssize_t receive(int socket, void* bytes, size_t size) { return result_of(recv(socket, bytes, size, 0)); }
ssize_t peek(int socket, void* bytes, size_t size) { return result_of(recv(socket, bytes, size, MSG_PEEK)); }
ssize_t transmit(int socket, const void* bytes, size_t size) {
  return result_of(send(socket, bytes, size, MSG_NOSIGNAL));
}

int open_pipe(Pipe& pipe) {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) return -errno;
  pipe = Pipe{Fd(ends[0]), Fd(ends[1]), std::max(fcntl(ends[1], F_GETPIPE_SZ), 0)};
  return 0;
}
int resize_pipe(const Pipe& pipe, int bytes) { return result(fcntl(pipe.write.get(), F_SETPIPE_SZ, bytes)); }
int max_pipe_bytes() {
  const Fd file(open("/proc/sys/fs/pipe-max-size", O_RDONLY | O_CLOEXEC));
  char text[16]{};
  return file && ::read(file.get(), text, sizeof text - 1) > 0 ? atoi(text) : 0;
}
ssize_t read_pipe(const Pipe& pipe, void* bytes, size_t size) { return result_of(::read(pipe.read.get(), bytes, size)); }
ssize_t splice_in(int socket, const Pipe& pipe, size_t size) {
  constexpr unsigned flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
  return result_of(splice(socket, nullptr, pipe.write.get(), nullptr, size, flags));
}
ssize_t splice_out(const Pipe& pipe, int socket, size_t size) {
  constexpr unsigned flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
  return result_of(splice(pipe.read.get(), nullptr, socket, nullptr, size, flags));
}

int open_epoll(Fd& epoll) {
  epoll = Fd(epoll_create1(EPOLL_CLOEXEC));
  return epoll ? 0 : -errno;
}
int watch(int epoll, int fd, uint32_t events, uint64_t data) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  return result(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}
int unwatch(int epoll, int fd) { return result(epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr)); }
int wait(int epoll, epoll_event* events, int count, int64_t timeout_us) {
  if (timeout_us % 1000 != 0) {
    const timespec timeout{timeout_us / 1'000'000, timeout_us % 1'000'000 * 1000};
    const long found = syscall(kEpollPwait2, epoll, events, count, &timeout, nullptr, size_t{0});
    if (found >= 0 || errno == EINTR) return result(static_cast<int>(found));
  }
  return result(epoll_wait(epoll, events, count, static_cast<int>(timeout_us / 1000)));
}
int open_wakeup(Fd& wakeup) {
  wakeup = Fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  return wakeup ? 0 : -errno;
}
void signal_wakeup(int wakeup) {
  // Fails only when the counter is full: the loop will wake anyway.
  [[maybe_unused]] const int result = eventfd_write(wakeup, 1);
}
void clear_wakeup(int wakeup) {
  eventfd_t count = 0;
  [[maybe_unused]] const int result = eventfd_read(wakeup, &count);
}

int64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
}
int64_t unix_ms() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

void fill_random(void* bytes, size_t size) {
  // Up to 256 bytes are never cut short. Before Linux 3.17 the call fails, and the time is the seed.
  if (getrandom(bytes, size, 0) == static_cast<ssize_t>(size)) return;
  const int64_t time = now_us();
  std::memcpy(bytes, &time, std::min(size, sizeof time));
}

int64_t descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return 1024;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return static_cast<int64_t>(limit.rlim_cur);
}

int64_t descriptors_in_use() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int64_t count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  return count - 1;  // without the folder's own descriptor
}

std::vector<Address> local_addresses() {
  std::vector<Address> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) < 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const sa_family_t family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    sockaddr_storage raw{};
    std::memcpy(&raw, one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    found.push_back(Address::from(raw));
  }
  freeifaddrs(all);
  return found;
}

int open_address_changes(Fd& socket) {
  const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return -errno;
  socket = Fd(fd);
  sockaddr_nl groups{};
  groups.nl_family = AF_NETLINK;
  groups.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  return result(bind(fd, reinterpret_cast<sockaddr*>(&groups), sizeof groups));
}

}  // namespace sys
}  // namespace sluice
