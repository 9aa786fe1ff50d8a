// Connections that are held: what they cost, and whether others feel them.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "modes.h"
#include "socket.h"

namespace {

/** Connections on which one message has gone through; fewer where the forwarder takes no more. */
std::vector<int> held(const Options& options, char wish) {
  std::vector<int> fds;
  std::array<char, 64> message{};
  for (int i = 0; i < options.conns; i++) {
    const int fd = fds.emplace_back(dial(options.to));
    block(fd, 3);
    message.fill('E');
    message[0] = wish;
    if (send(fd, message.data(), message.size(), MSG_NOSIGNAL) != 64) break;
    if (wish == 'E' && recv(fd, message.data(), message.size(), MSG_WAITALL) != 64) break;
    unblock(fd);
  }
  return fds;
}

/** How many bytes all of them take before they take no more. */
double stuff(const std::vector<int>& fds) {
  double sum = 0;
  for (double idle_since = now(); now() < idle_since + 0.3;)
    for (const int fd : fds) {
      const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) continue;
      sum += static_cast<double>(sent);
      idle_since = now();
    }
  return sum;
}

Options speaking(const Options& options, int conc) {
  Options own = options;
  own.conc = conc;
  own.size = 64;
  return own;
}

} // namespace

int idle(const Options& options) {
  const double memory_before = memory_of(options.pid);
  const std::vector<int> fds = held(options, 'E');
  pause_for(1);
  const double spent_before = cpu_of(options.pid);
  const double each = (memory_of(options.pid) - memory_before) / static_cast<double>(fds.size());
  pause_for(2);
  const double spent = cpu_of(options.pid) - spent_before;
  Figures figures = exchanges(speaking(options, options.busy), Life::kept);
  figures.emplace_back("held", static_cast<double>(fds.size()));
  figures.emplace_back("bytes_each", each);
  figures.emplace_back("idle_cores", spent / 2);
  say(figures);
  return 0;
}

/** One end of each never reads, while the other would never stop: `dir` says whence the bytes come. */
int stall(const Options& options) {
  const Figures quiet = exchanges(speaking(options, options.conc), Life::kept);
  const double memory_before = memory_of(options.pid);
  const std::vector<int> fds = held(options, options.dir == "up" ? 'N' : 'G');
  const double taken = options.dir == "up" ? stuff(fds) : 0;
  pause_for(0.5);
  const double memory_full = memory_of(options.pid);
  Figures figures = exchanges(speaking(options, options.conc), Life::kept);
  const double held_count = static_cast<double>(fds.size());
  figures.emplace_back("held", held_count);
  figures.emplace_back("quiet_p99_us", quiet[2].second);
  figures.emplace_back("taken_each", taken / held_count);
  figures.emplace_back("bytes_each", (memory_full - memory_before) / held_count);
  figures.emplace_back("growth_bytes", memory_of(options.pid) - memory_full);
  say(figures);
  return 0;
}
