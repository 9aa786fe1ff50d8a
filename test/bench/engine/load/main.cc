// Load for a forwarder, and the server behind it: one line of JSON a run.
#include <sys/resource.h>

#include <csignal>
#include <map>

#include "modes.h"

int main(int count, char** words) {
  const Options options = read_options(count, words);
  signal(SIGPIPE, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const std::map<std::string, int (*)(const Options&)> modes = {
      {"server", serve}, {"bulk", bulk},   {"connect", connect_rate}, {"exchange", exchange},
      {"idle", idle},    {"stall", stall}, {"stopped", stopped}, {"udp", udp},
      {"udp-exchange", udp_exchange},
  };
  const auto mode = modes.find(options.mode);
  if (mode == modes.end()) die("unknown mode: " + options.mode);
  return mode->second(options);
}
