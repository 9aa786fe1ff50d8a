// How long bulk transfers may keep a thread, and when: small exchanges beside them should hardly notice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

class Quantum {
 public:
  /** A read has found little: somebody exchanges, and waits for the answer. */
  void saw_small(int64_t now_us);
  /** What the turns of bulk transfers may take together before others go: half of the time that small reads leave
   * between each other. */
  int64_t us(int64_t now_us);
  /** The same as bytes of one transfer that is spliced. */
  size_t bytes(int64_t now_us);
  /** Turns have been taken. */
  void ended(int64_t now_us) { ended_us_ = now_us; }
  /** Until the next ones; none where nothing small was read of late. Who has just been answered may run meanwhile: a
   * thread that never sleeps keeps its processor for a slice of the scheduler, and with it whom it has woken there. */
  int64_t pause_us(int64_t now_us) const;

 private:
  void begin_window(int64_t now_us);

  int64_t small_us_ = 0;  // the last small read
  int64_t ended_us_ = 0;
  int64_t window_us_ = 0;  // the begin of this one
  int64_t small_reads_ = 0;
  int64_t small_reads_before_ = 0;  // in the window before
};

}  // namespace sluice
