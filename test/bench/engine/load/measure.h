// Measures time and the cost of a process tree, and prints results.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

[[noreturn]] void die(const std::string& why); // prints errno, too
double now();                                  // seconds
void pause_for(double secs);

/** CPU seconds of a process tree: live threads to the nanosecond, ended children to the tick. Pid 0 is no process. */
double cpu_of(int pid);
/** Memory of a process tree in bytes (Pss: shared pages count in proportion). */
double memory_of(int pid);
double descriptors_of(int pid);
/** The threads of a process tree. */
std::vector<int> threads_of(int pid);

/** A histogram of microseconds in steps of 3 %. */
class LatencyHistogram {
 public:
  void add(double us);
  double quantile(double share) const;

 private:
  std::array<uint32_t, 1024> counts_{};
  uint64_t total_ = 0;
};

using Result = std::vector<std::pair<std::string, double>>;
/** Prints one line of JSON. */
void print_result(const Result& result);
