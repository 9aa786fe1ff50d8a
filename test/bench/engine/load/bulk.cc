// Throughput: streams that are never done; the receiving end drops the bytes in the kernel.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "modes.h"
#include "socket.h"

namespace {

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

int bulk(const Options& options) {
  const bool up = options.dir == "up";
  Poll poll;
  std::vector<int> streams;
  std::string wish(64, up ? 'S' : 'G');
  for (int i = 0; i < options.streams; i++) {
    const int fd = streams.emplace_back(dial(options.to));
    if (send(fd, wish.data(), wish.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(wish.size())) die("send");
    unblock(fd);
    poll.add(fd, up ? EPOLLOUT : EPOLLIN, static_cast<uint64_t>(fd));
  }
  pause_for(0.1); // until every path stands

  const double spent_before = cpu_of(options.pid);
  const double begin = now();
  uint64_t moved = 0;
  while (now() < begin + options.secs)
    for (const epoll_event& event : poll.wait(100)) moved += move_some(static_cast<int>(event.data.u64), up);
  const uint64_t delivered = up ? arrived(streams) : moved;
  if (up && delivered != moved + wish.size() * streams.size()) die("bytes were lost, or made up");

  const double took = now() - begin;
  const double spent = cpu_of(options.pid) - spent_before;
  const double gib = static_cast<double>(delivered) / (1 << 30);
  say({{"gib_per_s", gib / took}, {"cpu_s_per_gib", spent / gib}, {"cpu_cores", spent / took}});
  return 0;
}
