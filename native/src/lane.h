// One direction of a connection: copied while it is small, spliced while it is large, slowed or held by its
// meters.
#pragma once

#include <memory>
#include <vector>

#include "meter.h"
#include "sys.h"
#include "wheel.h"

namespace sluice {

class Connection;

class Lane {
 public:
  Lane(Connection& connection, Direction direction) : connection_(connection), direction_(direction) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  enum class Outcome : uint8_t {
    waiting,  // for its source, its destination or a meter
    tired,    // there is more to do, after others
    source_broke,
    sink_broke,
  };
  /** Moves what can be moved. */
  Outcome pump();
  /** The end of its source has been passed on. */
  bool is_shut() const { return is_shut_; }
  bool has_work() const;
  /** It moves much, and waits for its turns. */
  bool is_bulk() const { return is_bulk_; }
  bool is_waiting_for_meter() const { return is_asleep_; }
  /** What was read before there was a target; it passes the meters like everything else. */
  void begin_with(std::vector<char> early) { early_ = std::move(early); }
  bool is_early() const { return !early_.empty(); }
  /** Its source is broken: what it still gives is passed on, its end is not. Said when nothing is left. */
  void drain() { is_draining_ = true; }
  bool is_drained() const { return is_draining_ && has_source_ended_ && !has_pending(); }
  /** Its destination is gone: what is on its way is given back. */
  void discard();
  /** A meter has changed. */
  void ask_again();

 private:
  bool has_pending() const { return pending_ != nullptr || in_pipe_ > 0; }
  ssize_t flush();
  ssize_t flush_pending();
  ssize_t flush_pipe();
  ssize_t read(size_t want);
  ssize_t copy(size_t most);
  ssize_t splice(size_t most);
  void judge(ssize_t count);
  ssize_t take(char* bytes, size_t most);
  void write(const char* bytes, size_t count);
  void pass_end();
  void delivered(size_t count);
  bool may_splice() const;
  size_t turn_bytes() const;
  bool has_source() const;
  void release_pipe();
  void sleep(int64_t wait_us);
  void wake();

  Connection& connection_;
  std::unique_ptr<char[]> pending_;  // read, not written yet
  uint32_t pending_at_ = 0;
  uint32_t pending_end_ = 0;
  sys::Pipe pipe_;
  uint32_t in_pipe_ = 0;
  const Direction direction_;
  bool is_bulk_ = false;
  bool can_splice_ = true;
  uint8_t small_reads_ = 0;  // one after the other, while it is bulk
  bool has_source_ended_ = false;
  bool is_shut_ = false;
  bool is_asleep_ = false;
  bool is_sink_full_ = false;  // since the last write; its edge is yet to come
  bool is_draining_ = false;
  std::vector<char> early_;
  size_t early_at_ = 0;
  TimerOf<Lane, &Lane::wake> timer_{*this};
};

}  // namespace sluice
