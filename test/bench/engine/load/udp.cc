// Datagrams that are echoed in a closed loop (many at once or one per flow), or sent at a rate and counted by the server.
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "exchange-stats.h"

namespace {

constexpr int first_port = 8000;

class Flows {
 public:
  explicit Flows(const Options& options) : options_(options), burst_(options.flows == 1 ? 32 : 4) {
    for (int i = 0; i < options.flows; i++) {
      const int fd = fds_.emplace_back(connected_udp(options.to, first_port + i));
      poll_.add(fd, EPOLLIN, static_cast<uint64_t>(fd));
    }
    for (size_t i = 0; i < batch; i++) messages_[i].msg_hdr = {nullptr, 0, &buffer_, 1, nullptr, 0, 0};
  }

  /** Sends one datagram on each flow and waits until the forwarder has set up the flows. */
  void open() {
    for (size_t i = 0; i < fds_.size(); i++) {
      send(fds_[i], bytes.data(), buffer_.iov_len, 0);
      if (i % 16 == 15) pause_for(0.002);
    }
    pause_for(0.3);
    for (const int fd : fds_) receive(fd);
  }

  int burst() const { return burst_; }

  /** Sends a burst on the next flow. */
  int send_burst() {
    buffer_ = {bytes.data(), static_cast<size_t>(options_.size)};
    const int sent = sendmmsg(fds_[next_], messages_.data(), static_cast<unsigned>(burst_), 0);
    next_ = (next_ + 1) % fds_.size();
    return sent < 0 ? 0 : sent;
  }

  int receive_ready() {
    int received = 0;
    for (const epoll_event& event : poll_.wait(20)) received += receive(static_cast<int>(event.data.u64));
    return received;
  }

 private:
  int receive(int fd) {
    static std::array<char, 2048> answer; // one buffer for the whole batch: the content is not used
    buffer_ = {answer.data(), answer.size()};
    const int received = recvmmsg(fd, messages_.data(), batch, MSG_DONTWAIT, nullptr);
    buffer_ = {bytes.data(), static_cast<size_t>(options_.size)};
    return received < 0 ? 0 : received;
  }

  const Options& options_;
  int burst_;
  std::vector<int> fds_;
  size_t next_ = 0;
  Poll poll_;
  iovec buffer_{bytes.data(), 64};
  std::array<mmsghdr, batch> messages_{};
};

/** Asks the server directly for the number of received datagrams. */
uint64_t received_by_server(const Options& options) {
  const int fd = connected_udp(options.server.sin_port != 0 ? options.server : options.to, 0);
  block(fd, 1);
  uint64_t count = 0;
  for (int i = 0; i < 3; i++) {
    send(fd, "Q", 1, 0);
    if (recv(fd, &count, sizeof count, 0) == sizeof count) break;
  }
  close(fd);
  return count;
}

struct Sent {
  double count = 0;
  double lost = 0; // echoes that did not return
};

Sent echo(Flows& flows, double until) {
  constexpr int window = 256;
  Sent sent;
  int in_flight = 0;
  double last = now();
  while (now() < until) {
    while (in_flight + flows.burst() <= window) {
      const int more = flows.send_burst();
      if (more == 0) break;
      sent.count += more;
      in_flight += more;
    }
    const int received = flows.receive_ready();
    in_flight -= received;
    if (received > 0) last = now();
    if (now() < last + 0.05) continue;
    sent.lost += in_flight;
    in_flight = 0;
    last = now();
  }
  sent.count -= in_flight;
  return sent;
}

Sent flood(Flows& flows, double rate, double begin, double until) {
  Sent sent;
  for (double time = now(); time < until; time = now()) {
    if (rate > 0 && sent.count > (time - begin) * rate) pause_for(0.00005);
    else sent.count += flows.send_burst();
  }
  return sent;
}

} // namespace

int udp(const Options& options) {
  bytes.fill(options.echo ? 'E' : 'S');
  Flows flows(options);
  flows.open();

  const uint64_t received_before = received_by_server(options);
  const double cpu_before = cpu_of(options.pid);
  const double begin = now();
  const double end = begin + options.secs;
  const Sent sent = options.echo ? echo(flows, end) : flood(flows, options.rate, begin, end);
  const double elapsed = now() - begin;
  pause_for(0.2); // waits for datagrams in flight
  const double cpu = cpu_of(options.pid) - cpu_before;

  const auto received_count = static_cast<double>(received_by_server(options) - received_before);
  const double delivered = options.echo ? sent.count - sent.lost : received_count;
  print_result({{"per_s", delivered / elapsed},
                {"loss_pct", sent.count > 0 ? 100 * (sent.count - delivered) / sent.count : 0},
                {"cpu_us_each", delivered > 0 ? cpu * 1e6 / delivered : 0},
                {"cpu_cores", cpu / elapsed}});
  return 0;
}

namespace {

/** Exchanges one datagram at a time on each flow. The next one follows the answer or the timeout. */
class UdpExchanger {
 public:
  explicit UdpExchanger(const Options& options) : size_(static_cast<size_t>(options.size)) {
    if (size_ < 1 + sizeof(uint64_t) || size_ > chunk) die("a datagram with a number has 9 bytes to 256 KiB");
    for (int i = 0; i < options.flows; i++) {
      const int fd = connected_udp(options.to, first_port + i);
      unblock(fd);
      poll_.add(fd, EPOLLIN, flows_.size());
      send_request(flows_.emplace_back(Flow{fd}));
    }
  }

  void run_until(double until) {
    while (now() < until) {
      for (const epoll_event& event : poll_.wait(20)) receive(flows_[event.data.u64]);
      for (Flow& flow : flows_) {
        if (now() < flow.since + timeout_secs) continue;
        stats_.failed++;
        send_request(flow);
      }
    }
  }

  ExchangeStats& stats() { return stats_; }

 private:
  static constexpr double timeout_secs = 0.2; // less than the length of a run

  struct Flow {
    int fd;
    uint64_t number = 0; // number of the last request; late answers to earlier ones are ignored
    double since = 0;
  };

  void send_request(Flow& flow) {
    flow.number++;
    flow.since = now();
    std::memcpy(bytes.data() + 1, &flow.number, sizeof flow.number);
    send(flow.fd, bytes.data(), size_, 0); // a datagram that is not sent counts as lost
  }

  void receive(Flow& flow) {
    static std::array<char, chunk> answer;
    while (recv(flow.fd, answer.data(), answer.size(), 0) == static_cast<ssize_t>(size_)) {
      if (std::memcmp(answer.data() + 1, &flow.number, sizeof flow.number) != 0) continue;
      stats_.latency.add((now() - flow.since) * 1e6);
      stats_.done++;
      send_request(flow);
    }
  }

  size_t size_;
  std::vector<Flow> flows_;
  Poll poll_;
  ExchangeStats stats_;
};

} // namespace

int udp_exchange(const Options& options) {
  bytes.fill('E');
  const BackgroundStreams beside(options);
  UdpExchanger exchanger(options);
  print_result(
      measure_exchanges(options, beside, exchanger.stats(), [&](double until) { exchanger.run_until(until); }));
  return 0;
}
