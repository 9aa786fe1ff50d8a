// Counts instructions and system calls of a process tree with perf events, if the system allows it.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

class Counts {
 public:
  /** Starts counting in the current threads of the tree. Pid 0 is no process. */
  explicit Counts(int pid);
  ~Counts();
  Counts(const Counts&) = delete;
  Counts& operator=(const Counts&) = delete;

  /** Empty if the system does not count them. */
  std::optional<double> system_calls() const { return sum(system_calls_); }
  std::optional<double> user_instructions() const { return sum(user_instructions_); }

 private:
  static std::optional<double> sum(const std::vector<int>& counters);

  std::vector<int> system_calls_;
  std::vector<int> user_instructions_;
};
