// Datagrams: echoed in a closed loop, many at once or one a flow, or sent at a rate and counted by the server.
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "tally.h"

namespace {

constexpr int first_port = 8000;

class Flows {
 public:
  explicit Flows(const Options& options) : options_(options), per_turn_(options.flows == 1 ? 32 : 4) {
    for (int i = 0; i < options.flows; i++) {
      const int fd = fds_.emplace_back(connected_udp(options.to, first_port + i));
      poll_.add(fd, EPOLLIN, static_cast<uint64_t>(fd));
    }
    for (size_t i = 0; i < batch; i++) messages_[i].msg_hdr = {nullptr, 0, &part_, 1, nullptr, 0, 0};
  }

  /** One datagram on each, and time for what it sets up. */
  void open() {
    for (size_t i = 0; i < fds_.size(); i++) {
      send(fds_[i], bytes.data(), part_.iov_len, 0);
      if (i % 16 == 15) pause_for(0.002);
    }
    pause_for(0.3);
    for (const int fd : fds_) hear(fd);
  }

  int per_turn() const { return per_turn_; }

  /** On the next flow. */
  int send_turn() {
    part_ = {bytes.data(), static_cast<size_t>(options_.size)};
    const int sent = sendmmsg(fds_[next_], messages_.data(), static_cast<unsigned>(per_turn_), 0);
    next_ = (next_ + 1) % fds_.size();
    return sent < 0 ? 0 : sent;
  }

  int hear_ready() {
    int heard = 0;
    for (const epoll_event& event : poll_.wait(20)) heard += hear(static_cast<int>(event.data.u64));
    return heard;
  }

 private:
  int hear(int fd) {
    static std::array<char, 2048> answer; // all of a batch into one: nobody reads it
    part_ = {answer.data(), answer.size()};
    const int got = recvmmsg(fd, messages_.data(), batch, MSG_DONTWAIT, nullptr);
    part_ = {bytes.data(), static_cast<size_t>(options_.size)};
    return got < 0 ? 0 : got;
  }

  const Options& options_;
  int per_turn_;
  std::vector<int> fds_;
  size_t next_ = 0;
  Poll poll_;
  iovec part_{bytes.data(), 64};
  std::array<mmsghdr, batch> messages_{};
};

/** How many datagrams have come to the server, asked without the forwarder. */
uint64_t arrived(const Options& options) {
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
  double lost = 0; // of echoes
};

Sent echo(Flows& flows, double until) {
  constexpr int window = 256;
  Sent sent;
  int under_way = 0;
  double last = now();
  while (now() < until) {
    while (under_way + flows.per_turn() <= window) {
      const int more = flows.send_turn();
      if (more == 0) break;
      sent.count += more;
      under_way += more;
    }
    const int heard = flows.hear_ready();
    under_way -= heard;
    if (heard > 0) last = now();
    if (now() < last + 0.05) continue;
    sent.lost += under_way;
    under_way = 0;
    last = now();
  }
  sent.count -= under_way;
  return sent;
}

Sent flood(Flows& flows, double rate, double begin, double until) {
  Sent sent;
  for (double time = now(); time < until; time = now()) {
    if (rate > 0 && sent.count > (time - begin) * rate) pause_for(0.00005);
    else sent.count += flows.send_turn();
  }
  return sent;
}

} // namespace

int udp(const Options& options) {
  bytes.fill(options.echo ? 'E' : 'S');
  Flows flows(options);
  flows.open();

  const uint64_t arrived_before = arrived(options);
  const double spent_before = cpu_of(options.pid);
  const double begin = now();
  const double end = begin + options.secs;
  const Sent sent = options.echo ? echo(flows, end) : flood(flows, options.rate, begin, end);
  const double took = now() - begin;
  pause_for(0.2); // what is under way
  const double spent = cpu_of(options.pid) - spent_before;

  const auto counted = static_cast<double>(arrived(options) - arrived_before);
  const double delivered = options.echo ? sent.count - sent.lost : counted;
  say({{"per_s", delivered / took},
       {"loss_pct", sent.count > 0 ? 100 * (sent.count - delivered) / sent.count : 0},
       {"cpu_us_each", delivered > 0 ? spent * 1e6 / delivered : 0},
       {"cpu_cores", spent / took}});
  return 0;
}

namespace {

/** One datagram there and back on each flow, and the next when it has come or is given up. */
class Questions {
 public:
  explicit Questions(const Options& options) : size_(static_cast<size_t>(options.size)) {
    if (size_ < 1 + sizeof(uint64_t) || size_ > chunk) die("a datagram with a number has at least 9 bytes");
    for (int i = 0; i < options.flows; i++) {
      const int fd = connected_udp(options.to, first_port + i);
      unblock(fd);
      poll_.add(fd, EPOLLIN, flows_.size());
      ask(flows_.emplace_back(Flow{fd}));
    }
  }

  void go_on(double until) {
    while (now() < until) {
      for (const epoll_event& event : poll_.wait(20)) hear(flows_[event.data.u64]);
      for (Flow& flow : flows_) {
        if (now() < flow.since + patience_secs) continue;
        tally_.failed++;
        ask(flow);
      }
    }
  }

  Tally& tally() { return tally_; }

 private:
  static constexpr double patience_secs = 0.2; // less than a run takes

  struct Flow {
    int fd;
    uint64_t number = 0; // of what it asked last: an answer that was given up may still come
    double since = 0;
  };

  void ask(Flow& flow) {
    flow.number++;
    flow.since = now();
    std::memcpy(bytes.data() + 1, &flow.number, sizeof flow.number);
    send(flow.fd, bytes.data(), size_, 0); // what is not taken is lost, and given up
  }

  void hear(Flow& flow) {
    static std::array<char, chunk> answer;
    while (recv(flow.fd, answer.data(), answer.size(), 0) == static_cast<ssize_t>(size_)) {
      if (std::memcmp(answer.data() + 1, &flow.number, sizeof flow.number) != 0) continue;
      tally_.spread.add((now() - flow.since) * 1e6);
      tally_.done++;
      ask(flow);
    }
  }

  size_t size_;
  std::vector<Flow> flows_;
  Poll poll_;
  Tally tally_;
};

} // namespace

int udp_exchange(const Options& options) {
  bytes.fill('E');
  const StreamsBeside beside(options);
  Questions questions(options);
  say(tallied(options, beside, questions.tally(), [&](double until) { questions.go_on(until); }));
  return 0;
}
