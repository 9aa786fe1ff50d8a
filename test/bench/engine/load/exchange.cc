// Messages there and back: on connections that stay, or each on a connection of its own.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "streams.h"

namespace {

struct Slot {
  int fd = -1;
  int heard = 0;
  bool is_dialling = true;
  double since = 0; // the dial, or the message of a kept connection
};

class Talk {
 public:
  Talk(const Options& options, Life life) : options_(options), life_(life), slots_(static_cast<size_t>(options.conc)) {}

  void open() {
    for (size_t i = 0; i < slots_.size(); i++) dial_again(i);
  }

  void go_on(double until) {
    while (now() < until)
      for (const epoll_event& event : poll_.wait(100)) {
        Slot& slot = slots_[event.data.u64];
        if (slot.is_dialling ? begin(slot, event.data.u64) : hear(slot, event.data.u64)) continue;
        failed_++;
        close(slot.fd);
        dial_again(event.data.u64);
      }
  }

  uint64_t done() const { return done_; }
  uint64_t failed() const { return failed_; }
  const Spread& spread() const { return spread_; }
  void forget() {
    done_ = failed_ = 0;
    spread_ = {};
  }

 private:
  void dial_again(size_t i) {
    int fd = dial_soon(options_.to);
    for (; fd < 0; fd = dial_soon(options_.to)) failed_++;
    slots_[i] = {fd, 0, true, now()};
    poll_.add(fd, EPOLLOUT, i);
  }

  bool speak(Slot& slot) { return send(slot.fd, bytes.data(), size(), MSG_NOSIGNAL) == options_.size; }

  bool begin(Slot& slot, size_t i) {
    int trouble = 0;
    socklen_t length = sizeof trouble;
    getsockopt(slot.fd, SOL_SOCKET, SO_ERROR, &trouble, &length);
    slot.is_dialling = false;
    if (life_ == Life::kept) slot.since = now();
    if (trouble != 0 || !speak(slot)) return false;
    poll_.change(slot.fd, EPOLLIN, i);
    return true;
  }

  bool hear(Slot& slot, size_t i) {
    static std::array<char, chunk> answer;
    const ssize_t got = recv(slot.fd, answer.data(), answer.size(), 0);
    if (got <= 0) return got < 0 && errno == EAGAIN;
    slot.heard += static_cast<int>(got);
    if (slot.heard < options_.size) return true;
    const double time = now();
    spread_.add((time - slot.since) * 1e6);
    done_++;
    if (life_ == Life::each) {
      close(slot.fd);
      dial_again(i);
      return true;
    }
    slot.heard = 0;
    slot.since = time;
    return speak(slot);
  }

  size_t size() const { return static_cast<size_t>(options_.size); }

  const Options& options_;
  Life life_;
  std::vector<Slot> slots_;
  Poll poll_;
  Spread spread_;
  uint64_t done_ = 0;
  uint64_t failed_ = 0;
};

} // namespace

Figures exchanges(const Options& options, Life life) {
  if (options.size > chunk) die("a message is at most 256 KiB");
  bytes.fill('E');
  const StreamsBeside beside(options);
  Talk talk(options, life);
  talk.open();
  talk.go_on(now() + 0.2);
  talk.forget();

  const double spent_before = cpu_of(options.pid);
  const double gib_before = beside.moved_gib();
  const double begin = now();
  talk.go_on(begin + options.secs);
  const double took = now() - begin;
  const double spent = cpu_of(options.pid) - spent_before;

  const auto done = static_cast<double>(talk.done());
  return {{"per_s", done / took},
          {"p50_us", talk.spread().quantile(0.5)},
          {"p99_us", talk.spread().quantile(0.99)},
          {"cpu_us_each", done > 0 ? spent * 1e6 / done : 0},
          {"cpu_cores", spent / took},
          {"beside_gib_per_s", (beside.moved_gib() - gib_before) / took},
          {"failed", static_cast<double>(talk.failed())}};
}

int connect_rate(const Options& options) {
  say(exchanges(options, Life::each));
  return 0;
}

int exchange(const Options& options) {
  say(exchanges(options, Life::kept));
  return 0;
}
