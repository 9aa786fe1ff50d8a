// Bulk streams through the forwarder, in one direction.
#pragma once
#include <vector>

#include "beside.h"
#include "modes.h"
#include "socket.h"

class Streams {
 public:
  /** `moved`: bytes so far, kept by who asks: it may be read from elsewhere. */
  Streams(const Options& options, Count& moved);
  void go_on(double until);
  /** Ends them; what has arrived at the other side, all of it. */
  uint64_t delivered();

 private:
  const bool is_up_;
  Count& moved_;
  std::vector<int> all_;
  Poll poll_;
};

/** `options.beside` of them in a process of their own, for as long as this lives. */
class StreamsBeside {
 public:
  explicit StreamsBeside(const Options& options);
  double moved_gib() const { return static_cast<double>(*moved_) / (1 << 30); }

 private:
  SharedCount moved_;
  Beside beside_;
};
