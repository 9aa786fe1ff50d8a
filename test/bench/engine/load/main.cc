// Generates load for a forwarder, or serves as the target behind it. A run prints one line of JSON.
#include <sys/resource.h>

#include <csignal>
#include <map>

#include "modes.h"

int main(int count, char** arguments) {
  const Options options = read_options(count, arguments);
  signal(SIGPIPE, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const std::map<std::string, int (*)(const Options&)> modes = {
      {"server", serve},      {"bulk", bulk}, {"connect", connect_rate},
      {"exchange", exchange}, {"idle", idle}, {"stall", stall},
      {"stopped", stopped},   {"udp", udp},   {"udp-exchange", udp_exchange},
      {"exhausted", exhausted}, {"unread", unread},
  };
  const auto mode = modes.find(options.mode);
  if (mode == modes.end()) die("unknown mode: " + options.mode);
  return mode->second(options);
}
