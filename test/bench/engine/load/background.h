// Concurrent work in a child process.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <functional>

using Count = std::atomic<uint64_t>;

/** A counter that this process shares with its children. */
class SharedCount {
 public:
  SharedCount();
  ~SharedCount();
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  Count& operator*() const { return *count_; }

 private:
  Count* count_;
};

/** Runs `run` in a child process until this object is destroyed. Does nothing unless `is_wanted`. */
class BackgroundProcess {
 public:
  BackgroundProcess(bool is_wanted, const std::function<void()>& run);
  ~BackgroundProcess();
  BackgroundProcess(const BackgroundProcess&) = delete;
  BackgroundProcess& operator=(const BackgroundProcess&) = delete;

 private:
  pid_t child_ = 0;
};
