// Messages there and back: on connections that stay, or each on a connection of its own.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "tally.h"

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
        tally_.failed++;
        close(slot.fd);
        dial_again(event.data.u64);
      }
  }

  Tally& tally() { return tally_; }

 private:
  void dial_again(size_t i) {
    int fd = dial_soon(options_.to);
    for (; fd < 0; fd = dial_soon(options_.to)) tally_.failed++;
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
    tally_.spread.add((time - slot.since) * 1e6);
    tally_.done++;
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
  Tally tally_;
};

} // namespace

Figures tallied(const Options& options, const StreamsBeside& beside, Tally& tally,
                const std::function<void(double until)>& go_on) {
  go_on(now() + 0.2);
  tally = {};

  const double spent_before = cpu_of(options.pid);
  const double gib_before = beside.moved_gib();
  const double begin = now();
  go_on(begin + options.secs);
  const double took = now() - begin;
  const double spent = cpu_of(options.pid) - spent_before;

  const auto done = static_cast<double>(tally.done);
  return {{"per_s", done / took},
          {"p50_us", tally.spread.quantile(0.5)},
          {"p99_us", tally.spread.quantile(0.99)},
          {"cpu_us_each", done > 0 ? spent * 1e6 / done : 0},
          {"cpu_cores", spent / took},
          {"beside_gib_per_s", (beside.moved_gib() - gib_before) / took},
          {"failed", static_cast<double>(tally.failed)}};
}

Figures exchanges(const Options& options, Life life) {
  if (options.size > chunk) die("a message is at most 256 KiB");
  bytes.fill('E');
  const StreamsBeside beside(options);
  Talk talk(options, life);
  talk.open();
  return tallied(options, beside, talk.tally(), [&](double until) { talk.go_on(until); });
}

int connect_rate(const Options& options) {
  say(exchanges(options, Life::each));
  return 0;
}

int exchange(const Options& options) {
  say(exchanges(options, Life::kept));
  return 0;
}
