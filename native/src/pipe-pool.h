// One thread's pipes for splice. Only empty pipes are reused, so no byte of one connection reaches another.
#pragma once

#include <vector>

#include "engine-context.h"

namespace sluice {

class PipePool {
 public:
  explicit PipePool(EngineContext& context) : context_(context) {}
  ~PipePool();

  /** Returns false when no descriptors are left for a pipe. */
  bool acquire(sys::Pipe& pipe);
  /** Takes back an empty pipe. */
  void put_back(sys::Pipe pipe);
  /** Closes a pipe that still has bytes in it. */
  void discard(sys::Pipe pipe);

 private:
  void enlarge(const sys::Pipe& pipe);

  EngineContext& context_;
  std::vector<sys::Pipe> spare_;
  bool is_size_reported_ = false;
};

}  // namespace sluice
