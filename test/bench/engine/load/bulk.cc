// Throughput of endless streams. The receiver discards the bytes in the kernel (MSG_TRUNC).
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include "streams.h"

namespace {

std::string request(bool is_up) { return std::string(64, is_up ? 'S' : 'G'); }

uint64_t move_some(int fd, bool up) {
  uint64_t moved = 0;
  for (int i = 0; i < 8; i++) {
    const ssize_t count =
        up ? send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) : recv(fd, nullptr, 4 << 20, MSG_TRUNC);
    if (count == 0 || (count < 0 && errno != EAGAIN)) die("a stream broke");
    if (count < 0) break;
    moved += static_cast<uint64_t>(count);
  }
  return moved;
}

/** Ends the streams and returns the number of bytes that the server has received. */
uint64_t finish(const std::vector<int>& streams) {
  uint64_t sum = 0;
  for (const int fd : streams) shutdown(fd, SHUT_WR);
  for (const int fd : streams) {
    uint64_t count = 0;
    block(fd, 10);
    if (recv(fd, &count, sizeof count, MSG_WAITALL) != sizeof count) die("the server did not confirm the end of a stream");
    sum += count;
  }
  return sum;
}

} // namespace

BulkStreams::BulkStreams(const Options& options, Count& moved) : is_in_(options.dir == "in"), moved_(moved) {
  const std::string message = request(is_in_);
  for (int i = 0; i < options.streams; i++) {
    const int fd = sockets_.emplace_back(dial(options.to));
    if (send(fd, message.data(), message.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(message.size())) die("send");
    unblock(fd);
    poll_.add(fd, is_in_ ? EPOLLOUT : EPOLLIN, static_cast<uint64_t>(fd));
  }
}

void BulkStreams::run_until(double until) {
  while (now() < until)
    for (const epoll_event& event : poll_.wait(100)) moved_ += move_some(static_cast<int>(event.data.u64), is_in_);
}

uint64_t BulkStreams::delivered() {
  if (!is_in_) return moved_;
  const uint64_t count = finish(sockets_);
  if (count != moved_ + request(is_in_).size() * sockets_.size())
    die("the server has received a different number of bytes");
  return count;
}

BackgroundStreams::BackgroundStreams(const Options& options)
    : background_(options.beside > 0, [&] {
        Options bulk = options;
        bulk.streams = options.beside;
        BulkStreams(bulk, *moved_).run_until(std::numeric_limits<double>::infinity());
      }) {}

namespace {

/** Exchanges one message every 20 ms, like an interactive session or a keepalive. */
void trickle(const sockaddr_in& to) {
  const int fd = dial(to);
  std::array<char, 64> message;
  message.fill('E');
  for (;;) {
    if (send(fd, message.data(), message.size(), MSG_NOSIGNAL) < 0) die("a message could not be sent");
    if (recv(fd, message.data(), message.size(), MSG_WAITALL) <= 0) die("a message was not answered");
    pause_for(0.02);
  }
}

} // namespace

int bulk(const Options& options) {
  const BackgroundProcess beside(options.beside > 0, [&] { trickle(options.to); });
  Count moved = 0;
  BulkStreams streams(options, moved);
  pause_for(0.1); // waits for all connections

  const double cpu_before = cpu_of(options.pid);
  const double begin = now();
  streams.run_until(begin + options.secs);
  const double gib = static_cast<double>(streams.delivered()) / (1 << 30);
  const double elapsed = now() - begin;
  const double cpu = cpu_of(options.pid) - cpu_before;
  print_result({{"gib_per_s", gib / elapsed}, {"cpu_s_per_gib", cpu / gib}, {"cpu_cores", cpu / elapsed}});
  return 0;
}
