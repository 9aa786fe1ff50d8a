// Throughput: streams that are never done; the receiving end drops the bytes in the kernel.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include "streams.h"

namespace {

std::string said(bool is_up) { return std::string(64, is_up ? 'S' : 'G'); }

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

/** Ends the streams; the server says what has arrived. */
uint64_t arrived(const std::vector<int>& streams) {
  uint64_t sum = 0;
  for (const int fd : streams) shutdown(fd, SHUT_WR);
  for (const int fd : streams) {
    uint64_t count = 0;
    block(fd, 10);
    if (recv(fd, &count, sizeof count, MSG_WAITALL) != sizeof count) die("the end of a stream was not answered");
    sum += count;
  }
  return sum;
}

} // namespace

Streams::Streams(const Options& options, Count& moved) : is_up_(options.dir == "up"), moved_(moved) {
  const std::string wish = said(is_up_);
  for (int i = 0; i < options.streams; i++) {
    const int fd = all_.emplace_back(dial(options.to));
    if (send(fd, wish.data(), wish.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(wish.size())) die("send");
    unblock(fd);
    poll_.add(fd, is_up_ ? EPOLLOUT : EPOLLIN, static_cast<uint64_t>(fd));
  }
}

void Streams::go_on(double until) {
  while (now() < until)
    for (const epoll_event& event : poll_.wait(100)) moved_ += move_some(static_cast<int>(event.data.u64), is_up_);
}

uint64_t Streams::delivered() {
  if (!is_up_) return moved_;
  const uint64_t count = arrived(all_);
  if (count != moved_ + said(is_up_).size() * all_.size()) die("bytes were lost, or made up");
  return count;
}

StreamsBeside::StreamsBeside(const Options& options)
    : beside_(options.beside > 0, [&] {
        Options bulk = options;
        bulk.streams = options.beside;
        Streams(bulk, *moved_).go_on(std::numeric_limits<double>::infinity());
      }) {}

namespace {

/** One message there and back every 20 ms, as of somebody who types, or is only kept alive. */
void whisper(const sockaddr_in& to) {
  const int fd = dial(to);
  std::array<char, 64> message;
  message.fill('E');
  for (;;) {
    if (send(fd, message.data(), message.size(), MSG_NOSIGNAL) < 0) die("a message was not taken");
    if (recv(fd, message.data(), message.size(), MSG_WAITALL) <= 0) die("a message was not answered");
    pause_for(0.02);
  }
}

} // namespace

int bulk(const Options& options) {
  const Beside beside(options.beside > 0, [&] { whisper(options.to); });
  Count moved = 0;
  Streams streams(options, moved);
  pause_for(0.1); // until every path stands

  const double spent_before = cpu_of(options.pid);
  const double begin = now();
  streams.go_on(begin + options.secs);
  const double gib = static_cast<double>(streams.delivered()) / (1 << 30);
  const double took = now() - begin;
  const double spent = cpu_of(options.pid) - spent_before;
  say({{"gib_per_s", gib / took}, {"cpu_s_per_gib", spent / gib}, {"cpu_cores", spent / took}});
  return 0;
}
