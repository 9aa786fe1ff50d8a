#include "counts.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "measure.h"

namespace {

/** Returns the id of a tracepoint, or 0 if tracefs is not mounted or not readable. */
uint64_t tracepoint_of_calls() {
  uint64_t id = 0;
  for (const char* folder : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"})
    if (std::ifstream file(std::string(folder) + "/events/raw_syscalls/sys_enter/id"); file >> id) return id;
  return 0;
}

void count(uint32_t type, uint64_t config, int thread, std::vector<int>& counters) {
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = type;
  event.config = config;
  event.exclude_kernel = type == PERF_TYPE_HARDWARE;
  const long fd = syscall(SYS_perf_event_open, &event, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) counters.push_back(static_cast<int>(fd));
}

} // namespace

Counts::Counts(int pid) {
  const uint64_t calls = tracepoint_of_calls();
  for (const int thread : threads_of(pid)) {
    if (calls != 0) count(PERF_TYPE_TRACEPOINT, calls, thread, system_calls_);
    count(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, thread, user_instructions_);
  }
}

Counts::~Counts() {
  for (const auto* counters : {&system_calls_, &user_instructions_})
    for (const int fd : *counters) close(fd);
}

std::optional<double> Counts::sum(const std::vector<int>& counters) {
  if (counters.empty()) return std::nullopt;
  double total = 0;
  for (const int fd : counters) {
    uint64_t value = 0;
    if (read(fd, &value, sizeof value) == sizeof value) total += static_cast<double>(value);
  }
  return total;
}
