// Limits how long bulk transfers occupy a thread, so that small exchanges on the same thread stay fast.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

class BulkScheduler {
 public:
  /** Records a read that found little: a small exchange, which waits for its answer. */
  void record_small_read(int64_t now_us);
  /** Returns the time that all bulk transfers together may take now: half the mean gap of small reads. */
  int64_t slice_us(int64_t now_us);
  /** Returns the same as a byte count, for one spliced transfer. */
  size_t slice_bytes(int64_t now_us);
  void slice_ended(int64_t now_us) { slice_ended_us_ = now_us; }
  /** Returns the pause before the next slice; a process just woken on this processor can run in it. */
  int64_t pause_us(int64_t now_us) const;

 private:
  void begin_window(int64_t now_us);

  int64_t last_small_us_ = 0;  // time of the last small read
  int64_t slice_ended_us_ = 0;
  int64_t window_start_us_ = 0;
  int64_t small_reads_ = 0;
  int64_t previous_small_reads_ = 0;  // in the previous window
};

}  // namespace sluice
