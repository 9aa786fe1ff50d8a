// Stops a sender during a transfer. Measures its cost and its effect on others, and checks that all bytes arrive.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <random>
#include <vector>

#include "modes.h"
#include "socket.h"

namespace {

constexpr uint64_t stream_bytes = 32 << 20;      // sent and echoed
constexpr uint64_t pattern_bytes = 1 << 20;      // repeated
constexpr uint64_t send_sizes[] = {1000, chunk}; // alternating: small ones are copied, large ones spliced

class Stream {
 public:
  Stream(const Options& options, const std::vector<char>& pattern) : fd_(dial(options.to)), pattern_(pattern) {
    unblock(fd_);
  }

  int fd() const { return fd_; }
  uint64_t received() const { return received_; }
  bool is_complete() const { return received_ == stream_bytes; }

  void send_more() {
    while (sent_ < stream_bytes) {
      const uint64_t at = sent_ % pattern_bytes;
      const uint64_t limit = std::min({stream_bytes - sent_, pattern_bytes - at, send_sizes[sends_++ % 2]});
      const ssize_t count = send(fd_, pattern_.data() + at, limit, MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN) die("a stream broke");
      if (count < 0) return;
      sent_ += static_cast<uint64_t>(count);
    }
  }
  void receive() {
    for (;;) {
      const ssize_t count = recv(fd_, bytes.data(), bytes.size(), 0);
      if (count == 0 || (count < 0 && errno != EAGAIN)) die("a stream broke");
      if (count < 0) return;
      for (uint64_t at = 0; at < static_cast<uint64_t>(count);) {
        const uint64_t from = received_ % pattern_bytes;
        const uint64_t part = std::min(static_cast<uint64_t>(count) - at, pattern_bytes - from);
        if (std::memcmp(bytes.data() + at, pattern_.data() + from, part) != 0) die("an echoed byte differs");
        received_ += part;
        at += part;
      }
    }
  }

 private:
  int fd_;
  const std::vector<char>& pattern_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  unsigned sends_ = 0;
};

/** Stops this process after a quarter of the transfer. */
void transfer(const Options& options) {
  std::vector<char> pattern(pattern_bytes);
  std::minstd_rand random(1);
  for (char& byte : pattern) byte = static_cast<char>(random());
  pattern[0] = 'E'; // the server's command: echo
  std::vector<Stream> streams;
  Poll poll;
  for (int i = 0; i < options.conns; i++) streams.emplace_back(options, pattern);
  for (size_t i = 0; i < streams.size(); i++) poll.add(streams[i].fd(), EPOLLIN | EPOLLOUT | EPOLLET, i);
  for (bool has_stopped = false; !std::ranges::all_of(streams, &Stream::is_complete);) {
    for (const epoll_event& event : poll.wait(1000)) {
      streams[event.data.u64].receive();
      streams[event.data.u64].send_more();
    }
    uint64_t received = 0;
    for (const Stream& stream : streams) received += stream.received();
    if (has_stopped || received < streams.size() * stream_bytes / 4) continue;
    has_stopped = true;
    raise(SIGSTOP);
  }
}

double p99_beside(const Options& options) {
  Options own = options;
  own.size = 64;
  return exchanges(own, ConnectionUse::reused)[2].second;
}

} // namespace

int stopped(const Options& options) {
  const double quiet_p99 = p99_beside(options);
  const pid_t sender = fork();
  if (sender == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // an orphaned stopped sender would hold its buffers forever
    transfer(options);
    _exit(0);
  }
  int status = 0;
  waitpid(sender, &status, WUNTRACED);
  if (!WIFSTOPPED(status)) die("the sender ended before it was stopped");
  const double since = now();
  pause_for(1); // waits for bytes in flight
  const double memory = memory_of(options.pid);
  const double descriptors = descriptors_of(options.pid);
  pause_for(std::max(0.0, since + options.pause - now()));
  const double growth = memory_of(options.pid) - memory;
  const double descriptor_growth = descriptors_of(options.pid) - descriptors;
  const double p99 = p99_beside(options);
  kill(sender, SIGCONT);
  waitpid(sender, &status, 0);
  print_result({{"connections", static_cast<double>(options.conns)},
                {"growth_bytes", growth},
                {"descriptor_growth", descriptor_growth},
                {"quiet_p99_us", quiet_p99},
                {"p99_us", p99},
                {"intact", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1.0 : 0.0}});
  return 0;
}
