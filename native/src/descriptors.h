// Counts the descriptors that the engine may still open, so that it refuses traffic before EMFILE.
#pragma once

#include <atomic>

#include "sys.h"

namespace sluice {

class Descriptors {
 public:
  void init() { available_ = sys::descriptor_limit() - sys::descriptors_in_use() - kSpare; }
  /** Reserves all of `count`, or returns false and reserves none. */
  bool reserve(int64_t count) {
    if (available_.fetch_sub(count, std::memory_order_relaxed) >= count) return true;
    release(count);
    return false;
  }
  void release(int64_t count) { available_.fetch_add(count, std::memory_order_relaxed); }

 private:
  /** Left for files, the control stream and overlapping dial attempts. */
  static constexpr int64_t kSpare = 64;

  std::atomic<int64_t> available_{0};
};

}  // namespace sluice
