// The cost of open connections, and their effect on others.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "modes.h"
#include "socket.h"

namespace {

/** Opens connections and sends one message on each. Stops early if the forwarder accepts no more. */
std::vector<int> hold_connections(const Options& options, char command) {
  std::vector<int> fds;
  std::array<char, 64> message{};
  for (int i = 0; i < options.conns; i++) {
    const int fd = fds.emplace_back(dial(options.to));
    block(fd, 3);
    message.fill('E');
    message[0] = command;
    if (send(fd, message.data(), message.size(), MSG_NOSIGNAL) != 64) break;
    if (command == 'E' && recv(fd, message.data(), message.size(), MSG_WAITALL) != 64) break;
    unblock(fd);
  }
  return fds;
}

/** Sends until no more bytes are accepted. Returns the number of bytes. */
double fill(const std::vector<int>& fds) {
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

/** Closes by reset. Otherwise unread bytes would stay in the forwarder and in the system's TCP memory. */
void reset_all(const std::vector<int>& fds) {
  const linger at_once{1, 0};
  for (const int fd : fds) {
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
  }
}

Options exchange_options(const Options& options, int conc) {
  Options own = options;
  own.conc = conc;
  own.size = 64;
  return own;
}

} // namespace

int idle(const Options& options) {
  const double memory_before = memory_of(options.pid);
  const std::vector<int> fds = hold_connections(options, 'E');
  pause_for(1);
  const double cpu_before = cpu_of(options.pid);
  const double bytes_each = (memory_of(options.pid) - memory_before) / static_cast<double>(fds.size());
  pause_for(2);
  const double cpu = cpu_of(options.pid) - cpu_before;
  Result result = exchanges(exchange_options(options, options.busy), ConnectionUse::reused);
  result.emplace_back("connections", static_cast<double>(fds.size()));
  result.emplace_back("bytes_each", bytes_each);
  result.emplace_back("idle_cores", cpu / 2);
  print_result(result);
  return 0;
}

/** One end of each connection never reads while the other sends continuously. `dir` is the direction of the bytes. */
int stall(const Options& options) {
  const Result quiet = exchanges(exchange_options(options, options.conc), ConnectionUse::reused);
  const double memory_before = memory_of(options.pid);
  const std::vector<int> fds = hold_connections(options, options.dir == "in" ? 'N' : 'G');
  const double accepted = options.dir == "in" ? fill(fds) : 0;
  pause_for(0.5);
  const double memory_full = memory_of(options.pid);
  Result result = exchanges(exchange_options(options, options.conc), ConnectionUse::reused);
  const double count = static_cast<double>(fds.size());
  result.emplace_back("connections", count);
  result.emplace_back("quiet_p99_us", quiet[2].second);
  result.emplace_back("accepted_bytes_each", accepted / count);
  result.emplace_back("bytes_each", (memory_full - memory_before) / count);
  result.emplace_back("growth_bytes", memory_of(options.pid) - memory_full);
  reset_all(fds);
  print_result(result);
  return 0;
}
