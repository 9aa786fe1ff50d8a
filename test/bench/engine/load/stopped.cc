// A sender that is stopped in the midst of a transfer: what it costs, whether others feel it, whether all arrives.
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

constexpr uint64_t total = 32 << 20;       // bytes of a stream, there and back
constexpr uint64_t words_size = 1 << 20;   // that are said again and again
constexpr uint64_t sizes[] = {1000, chunk}; // how much is said at once, in turn: some is copied, some is spliced

class Stream {
 public:
  Stream(const Options& options, const std::vector<char>& words) : fd_(dial(options.to)), words_(words) { unblock(fd_); }

  int fd() const { return fd_; }
  uint64_t heard() const { return heard_; }
  bool is_whole() const { return heard_ == total; }

  void say() {
    while (said_ < total) {
      const uint64_t at = said_ % words_size;
      const uint64_t most = std::min({total - said_, words_size - at, sizes[turn_++ % 2]});
      const ssize_t count = send(fd_, words_.data() + at, most, MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN) die("a stream broke");
      if (count < 0) return;
      said_ += static_cast<uint64_t>(count);
    }
  }
  void hear() {
    for (;;) {
      const ssize_t count = recv(fd_, bytes.data(), bytes.size(), 0);
      if (count == 0 || (count < 0 && errno != EAGAIN)) die("a stream broke");
      if (count < 0) return;
      for (uint64_t at = 0; at < static_cast<uint64_t>(count);) {
        const uint64_t from = heard_ % words_size;
        const uint64_t part = std::min(static_cast<uint64_t>(count) - at, words_size - from);
        if (std::memcmp(bytes.data() + at, words_.data() + from, part) != 0) die("other bytes came than were said");
        heard_ += part;
        at += part;
      }
    }
  }

 private:
  int fd_;
  const std::vector<char>& words_;
  uint64_t said_ = 0;
  uint64_t heard_ = 0;
  unsigned turn_ = 0;
};

/** Stops itself when a quarter is done. */
void transfer(const Options& options) {
  std::vector<char> words(words_size);
  std::minstd_rand random(1);
  for (char& word : words) word = static_cast<char>(random());
  words[0] = 'E'; // what the server is asked for
  std::vector<Stream> streams;
  Poll poll;
  for (int i = 0; i < options.conns; i++) streams.emplace_back(options, words);
  for (size_t i = 0; i < streams.size(); i++) poll.add(streams[i].fd(), EPOLLIN | EPOLLOUT | EPOLLET, i);
  for (bool has_stopped = false; !std::ranges::all_of(streams, &Stream::is_whole);) {
    for (const epoll_event& event : poll.wait(1000)) {
      streams[event.data.u64].hear();
      streams[event.data.u64].say();
    }
    uint64_t heard = 0;
    for (const Stream& stream : streams) heard += stream.heard();
    if (has_stopped || heard < streams.size() * total / 4) continue;
    has_stopped = true;
    raise(SIGSTOP);
  }
}

double p99_beside(const Options& options) {
  Options own = options;
  own.size = 64;
  return exchanges(own, Life::kept)[2].second;
}

} // namespace

int stopped(const Options& options) {
  const double quiet_p99 = p99_beside(options);
  const pid_t sender = fork();
  if (sender == 0) {
    transfer(options);
    _exit(0);
  }
  int status = 0;
  waitpid(sender, &status, WUNTRACED);
  if (!WIFSTOPPED(status)) die("the sender ended before it was stopped");
  const double since = now();
  pause_for(1); // what is under way arrives
  const double memory = memory_of(options.pid);
  const double descriptors = descriptors_of(options.pid);
  pause_for(std::max(0.0, since + options.pause - now()));
  const double growth = memory_of(options.pid) - memory;
  const double more = descriptors_of(options.pid) - descriptors;
  const double p99 = p99_beside(options);
  kill(sender, SIGCONT);
  waitpid(sender, &status, 0);
  say({{"held", static_cast<double>(options.conns)},
       {"growth_bytes", growth},
       {"more_descriptors", more},
       {"quiet_p99_us", quiet_p99},
       {"p99_us", p99},
       {"whole", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1.0 : 0.0}});
  return 0;
}
