// Bulk streams through the forwarder, in one direction.
#pragma once
#include <vector>

#include "background.h"
#include "modes.h"
#include "socket.h"

class BulkStreams {
 public:
  /** `moved` counts bytes. The caller owns it and may share it with other processes. */
  BulkStreams(const Options& options, Count& moved);
  void run_until(double until);
  /** Ends the streams and returns the number of bytes that the other side has received. */
  uint64_t delivered();

 private:
  const bool is_in_;
  Count& moved_;
  std::vector<int> sockets_;
  Poll poll_;
};

/** Runs `options.beside` bulk streams in a child process until this object is destroyed. */
class BackgroundStreams {
 public:
  explicit BackgroundStreams(const Options& options);
  double moved_gib() const { return static_cast<double>(*moved_) / (1 << 30); }

 private:
  SharedCount moved_;
  BackgroundProcess background_;
};
