#include "fake-sys.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../src/udp-sys.h"

namespace sluice {

fake::Kernel* fake::kernel = nullptr;

using fake::kernel;

void Fd::close() {
  if (fd_ >= 0) kernel->sockets.erase(fd_);
  fd_ = -1;
}

namespace sys {

int connect_datagram(const Address& target, const Address*, Fd& socket) {
  if (target.is_unspecified()) return -ENETUNREACH;
  socket = Fd(kernel->open());
  kernel->sockets[socket.get()].target = target;
  return 0;
}

namespace {
void copy(void* to, const void* from, size_t size) {
  if (size > 0) std::memcpy(to, from, size);
}
}  // namespace

int receive_many(int fd, mmsghdr* messages, int count) {
  fake::Socket& socket = kernel->sockets.at(fd);
  int received = 0;
  for (; received < count && !socket.arrivals.empty(); received++) {
    fake::Arrival& arrival = socket.arrivals.front();
    if (kernel->on_receive) kernel->on_receive(fd, arrival);
    msghdr& head = messages[received].msg_hdr;
    copy(head.msg_iov->iov_base, arrival.bytes.data(), std::min(arrival.bytes.size(), head.msg_iov->iov_len));
    messages[received].msg_len = static_cast<unsigned>(arrival.bytes.size());
    copy(head.msg_name, &arrival.from, std::min<size_t>(arrival.from_size, head.msg_namelen));
    head.msg_namelen = arrival.from_size;
    copy(head.msg_control, arrival.control.data(), std::min(arrival.control.size(), head.msg_controllen));
    head.msg_controllen = std::min(arrival.control.size(), head.msg_controllen);
    socket.arrivals.pop_front();
  }
  if (received > 0) return received;
  const int error = std::exchange(socket.error, 0);
  if (error != 0 && kernel->on_receive_error) kernel->on_receive_error(fd, error);
  return error != 0 ? -error : -EAGAIN;
}

int send_many(int fd, mmsghdr* messages, int count) {
  int sent = 0;
  for (; sent < count; sent++) {
    const int error = kernel->on_send(fd, messages[sent].msg_hdr);
    if (error != 0) return sent > 0 ? sent : -error;
  }
  return sent;
}

int send_one(int fd, const msghdr& message) { return -kernel->on_send(fd, message); }

int watch(int, int fd, uint32_t, uint64_t data) {
  kernel->sockets.at(fd).watcher = data;
  return 0;
}
int unwatch(int, int fd) {
  kernel->sockets.at(fd).watcher.reset();
  return 0;
}
int wait(int, epoll_event* events, int count, int64_t) {
  int ready = 0;
  for (const auto& [fd, socket] : kernel->sockets) {
    if (!socket.watcher || ready == count) continue;
    if (socket.arrivals.empty() && socket.error == 0) continue;
    events[ready].events = EPOLLIN | (socket.error != 0 ? EPOLLERR : 0u);
    events[ready++].data.u64 = *socket.watcher;
  }
  if (ready == 0) kernel->step();
  return ready;
}
int open_epoll(Fd& epoll) {
  epoll = Fd(kernel->open());
  return 0;
}
int open_wakeup(Fd& wakeup) { return open_epoll(wakeup); }
void signal_wakeup(int) {}
void clear_wakeup(int) {}
int64_t now_us() { return kernel->now_us; }
int64_t unix_ms() { return kernel->now_us / 1000; }
void fill_random(void* bytes, size_t size) { std::memset(bytes, 7, size); }
int64_t descriptor_limit() { return 200; }
int64_t descriptors_in_use() { return 0; }
std::vector<Address> local_addresses() { return {}; }
int open_address_changes(Fd&) { return -EAFNOSUPPORT; }

// Streams are not fuzzed with this kernel.
int listen_on(Protocol, const Address&, Sharing, Fd&) { return -ENOSYS; }
int accept_from(int, Address&, Fd&) { return -ENOSYS; }
int connect_to(const Address&, const Address*, Fd&) { return -ENOSYS; }
int open_pair(Fd&, Fd&) { return -ENOSYS; }
Address local_address(int) { return {}; }
int64_t unacknowledged(int) { return 0; }
Unanswered unanswered(int) { return {}; }
TcpFigures tcp_figures(int) { return {}; }
void keep_alive(int) {}
int socket_error(int) { return ENOSYS; }
void arm_reset(int) {}
int shut_write(int) { return -ENOSYS; }
ssize_t receive(int, void*, size_t) { return -ENOSYS; }
ssize_t peek(int, void*, size_t) { return -ENOSYS; }
ssize_t transmit(int, const void*, size_t) { return -ENOSYS; }
int open_pipe(Pipe&) { return -ENOSYS; }
int resize_pipe(const Pipe&, int) { return -ENOSYS; }
int max_pipe_bytes() { return 0; }
ssize_t read_pipe(const Pipe&, void*, size_t) { return -ENOSYS; }
ssize_t splice_in(int, const Pipe&, size_t) { return -ENOSYS; }
ssize_t splice_out(const Pipe&, int, size_t) { return -ENOSYS; }

}  // namespace sys
}  // namespace sluice
