// One thread's pipes for splice. Only empty pipes are reused, so no byte of one connection reaches another.
#pragma once

#include <vector>

#include "engine-context.h"
#include "event-loop.h"

namespace sluice {

/**
 * A transfer has a pipe for one step, or while its sink does not accept the bytes in it. The system limits the pipes of
 * a user (pipe(7), pipe-user-pages-soft), so the pool keeps one for the next step: stalled transfers never take the last.
 */
class PipePool {
 public:
  PipePool(EngineContext& context, EventLoop& loop) : context_(context), loop_(loop) {}
  ~PipePool();

  /** Returns false when there is no pipe of a useful size: the caller copies instead. */
  bool acquire(sys::Pipe& pipe);
  /**
   * Lets a transfer keep a pipe with bytes, as the owner's. Returns false when the pool would have no further pipe: the
   * caller empties its pipe and puts it back.
   */
  bool keep(DescriptorShare& owner) { return (!spare_.empty() || open_spare()) && owner.charge(kDescriptorsPerPipe); }
  /** True for a second after a pipe was refused. */
  bool is_scarce() const { return loop_.now_ms() < open_again_ms_; }
  /** Takes back an empty pipe. */
  void put_back(sys::Pipe pipe);
  /** Closes a pipe that still has bytes in it. */
  void discard(sys::Pipe pipe);

  static constexpr int64_t kDescriptorsPerPipe = 2;

 private:
  bool open_spare();
  void enlarge(sys::Pipe& pipe);
  void report_size(int actual_bytes, int error);

  EngineContext& context_;
  EventLoop& loop_;
  std::vector<sys::Pipe> spare_;
  int64_t open_again_ms_ = 0;
  int64_t enlarge_again_ms_ = 0;
  int64_t report_again_ms_ = 0;
};

}  // namespace sluice
