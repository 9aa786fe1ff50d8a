// Time, and what a process tree has cost; the one line in which a mode says its figures.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

[[noreturn]] void die(const std::string& why); // says errno too
double now();                                  // seconds
void pause_for(double secs);

/** Seconds of CPU: of live threads in nanoseconds, of ended children in ticks. 0 is nobody. */
double cpu_of(int pid);
/** What the tree holds of memory, shared pages in proportion. */
double memory_of(int pid);
double descriptors_of(int pid);

/** Microseconds in steps of 3 %, up to 10 s. */
class Spread {
 public:
  void add(double us);
  double quantile(double share) const;

 private:
  std::array<uint32_t, 1024> counts_{};
  uint64_t total_ = 0;
};

using Figures = std::vector<std::pair<std::string, double>>;
void say(const Figures& figures);
