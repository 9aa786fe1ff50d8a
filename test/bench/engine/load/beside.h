// What goes on at the same time, in a process of its own.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <functional>

using Count = std::atomic<uint64_t>;

/** One number that this process and its children share. */
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

/** `act` goes on for as long as this lives; nothing where `is_wanted` is false. */
class Beside {
 public:
  Beside(bool is_wanted, const std::function<void()>& act);
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

 private:
  pid_t child_ = 0;
};
