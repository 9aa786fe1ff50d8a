// Exchanges messages on reused connections, or each on a new connection.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "counts.h"
#include "exchange-stats.h"

namespace {

struct Connection {
  int fd = -1;
  int received = 0;
  bool is_connecting = true;
  double since = 0; // start of the dial, or of the exchange on a reused connection
};

class Exchanger {
 public:
  Exchanger(const Options& options, ConnectionUse use)
      : options_(options), use_(use), connections_(static_cast<size_t>(options.conc)) {}

  void open() {
    for (size_t i = 0; i < connections_.size(); i++) redial(i);
  }

  void run_until(double until) {
    while (now() < until)
      for (const epoll_event& event : poll_.wait(100)) {
        Connection& conn = connections_[event.data.u64];
        if (conn.is_connecting ? on_connected(conn, event.data.u64) : receive(conn, event.data.u64)) continue;
        stats_.failed++;
        close(conn.fd);
        redial(event.data.u64);
      }
  }

  ExchangeStats& stats() { return stats_; }

 private:
  void redial(size_t i) {
    int fd = dial_nonblocking(options_.to);
    for (; fd < 0; fd = dial_nonblocking(options_.to)) stats_.failed++;
    connections_[i] = {fd, 0, true, now()};
    poll_.add(fd, EPOLLOUT, i);
  }

  bool send_message(Connection& conn) { return send(conn.fd, bytes.data(), size(), MSG_NOSIGNAL) == options_.size; }

  bool on_connected(Connection& conn, size_t i) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(conn.fd, SOL_SOCKET, SO_ERROR, &error, &length);
    conn.is_connecting = false;
    if (use_ == ConnectionUse::reused) conn.since = now();
    if (error != 0 || !send_message(conn)) return false;
    poll_.change(conn.fd, EPOLLIN, i);
    return true;
  }

  bool receive(Connection& conn, size_t i) {
    static std::array<char, chunk> answer;
    const ssize_t count = recv(conn.fd, answer.data(), answer.size(), 0);
    if (count <= 0) return count < 0 && errno == EAGAIN;
    conn.received += static_cast<int>(count);
    if (conn.received < options_.size) return true;
    const double time = now();
    stats_.latency.add((time - conn.since) * 1e6);
    stats_.done++;
    if (use_ == ConnectionUse::per_exchange) {
      close(conn.fd);
      redial(i);
      return true;
    }
    conn.received = 0;
    conn.since = time;
    return send_message(conn);
  }

  size_t size() const { return static_cast<size_t>(options_.size); }

  const Options& options_;
  ConnectionUse use_;
  std::vector<Connection> connections_;
  Poll poll_;
  ExchangeStats stats_;
};

} // namespace

Result measure_exchanges(const Options& options, const BackgroundStreams& beside, ExchangeStats& stats,
                         const std::function<void(double until)>& run_until) {
  run_until(now() + 0.2);
  stats = {};

  const Counts counts(options.is_counted ? options.pid : 0);
  const double cpu_before = cpu_of(options.pid);
  const double gib_before = beside.moved_gib();
  const double begin = now();
  run_until(begin + options.secs);
  const double elapsed = now() - begin;
  const double cpu = cpu_of(options.pid) - cpu_before;

  const auto done = static_cast<double>(stats.done);
  Result result{{"per_s", done / elapsed},
                {"p50_us", stats.latency.quantile(0.5)},
                {"p99_us", stats.latency.quantile(0.99)},
                {"cpu_us_each", done > 0 ? cpu * 1e6 / done : 0},
                {"cpu_cores", cpu / elapsed},
                {"beside_gib_per_s", (beside.moved_gib() - gib_before) / elapsed},
                {"failed", static_cast<double>(stats.failed)}};
  if (const auto calls = counts.system_calls()) result.emplace_back("calls_each", *calls / done);
  if (const auto instructions = counts.user_instructions()) result.emplace_back("instructions_each", *instructions / done);
  return result;
}

Result exchanges(const Options& options, ConnectionUse use) {
  if (options.size > chunk) die("a message is at most 256 KiB");
  bytes.fill('E');
  const BackgroundStreams beside(options);
  Exchanger exchanger(options, use);
  exchanger.open();
  return measure_exchanges(options, beside, exchanger.stats(), [&](double until) { exchanger.run_until(until); });
}

int connect_rate(const Options& options) {
  print_result(exchanges(options, ConnectionUse::per_exchange));
  return 0;
}

int exchange(const Options& options) {
  print_result(exchanges(options, ConnectionUse::reused));
  return 0;
}
