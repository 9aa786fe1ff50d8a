// A thread's pipes for splice. Only an empty one is used again: no byte of one connection reaches another.
#pragma once

#include <memory>
#include <vector>

#include "shared.h"

namespace sluice {

class Pipes {
 public:
  explicit Pipes(Shared& shared) : shared_(shared) {}
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;
  ~Pipes();

  /** False: no descriptors are left for one. */
  bool take(sys::Pipe& pipe);
  void give_empty(sys::Pipe pipe);
  void drop(sys::Pipe pipe);

 private:
  void enlarge(const sys::Pipe& pipe);

  Shared& shared_;
  std::vector<sys::Pipe> spare_;
  bool was_told_ = false;
};

}  // namespace sluice
