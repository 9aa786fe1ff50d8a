#include "lane.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "connection.h"

namespace sluice {

namespace {

constexpr size_t kSpliceBytes = 1 << 20;
/** A step that moves less takes no less time. */
constexpr size_t kStepBytes = 32 << 10;
constexpr size_t kCopyTurnBytes = 16 * kStepBytes;  // at most
constexpr ssize_t kSmallRead = 4096;
constexpr uint8_t kSmallReadsOfBulk = 8;

bool is_no_splice(ssize_t error) {
  return error == -ENOSYS || error == -EINVAL || error == -EPERM || error == -EOPNOTSUPP;
}

}  // namespace

Lane::Outcome Lane::pump() {
  is_sink_full_ = false;
  for (size_t left = turn_bytes();;) {
    const ssize_t flushed = is_sink_full_ ? -EAGAIN : flush();
    if (flushed == -EAGAIN) return Outcome::waiting;
    if (flushed < 0) return Outcome::sink_broke;
    if (has_source_ended_) pass_end();
    if (has_source_ended_ || is_asleep_ || !has_source()) return Outcome::waiting;
    if (left == 0) return Outcome::tired;
    const ssize_t count = read(left);
    if (count < 0 && count != -EAGAIN) return Outcome::source_broke;
    const size_t moved = count > 0 ? static_cast<size_t>(count) : 0;
    left -= std::min(left, std::max(moved, kStepBytes));
  }
}

bool Lane::has_work() const { return has_pending() || (!has_source_ended_ && !is_asleep_ && has_source()); }

bool Lane::has_source() const { return !early_.empty() || connection_.source(direction_).is_readable; }

ssize_t Lane::flush() {
  const ssize_t flushed = pending_ != nullptr ? flush_pending() : 0;
  return flushed < 0 || in_pipe_ == 0 ? flushed : flush_pipe();
}

ssize_t Lane::flush_pending() {
  const uint32_t left = pending_end_ - pending_at_;
  const ssize_t count = sys::transmit(connection_.sink(direction_).fd(), pending_.get() + pending_at_, left);
  if (count < 0) return count;
  delivered(static_cast<size_t>(count));
  pending_at_ += static_cast<uint32_t>(count);
  if (pending_at_ < pending_end_) return -EAGAIN;
  pending_.reset();
  return 0;
}

ssize_t Lane::flush_pipe() {
  while (in_pipe_ > 0) {
    const ssize_t count = sys::splice_out(pipe_, connection_.sink(direction_).fd(), in_pipe_);
    if (count <= 0) return count == 0 ? -EPIPE : count;
    in_pipe_ -= static_cast<uint32_t>(count);
    delivered(static_cast<size_t>(count));
  }
  return 0;
}

/** Reserves, reads, gives back what it did not read. */
ssize_t Lane::read(size_t want) {
  Pass& pass = connection_.pass();
  const bool is_spliced = may_splice();
  if (!is_spliced) release_pipe();
  want = std::min(want, is_spliced ? kSpliceBytes : connection_.worker().buffer.size());
  const auto [most, wait_us] =
      pass.reserve(direction_, static_cast<int64_t>(want), connection_.worker().loop.now_us());
  if (most == 0) {
    sleep(wait_us);
    return -EAGAIN;
  }
  const ssize_t count = is_spliced ? splice(static_cast<size_t>(most)) : copy(static_cast<size_t>(most));
  const int64_t unused = most - std::max<ssize_t>(count, 0);
  if (unused > 0) pass.returned(direction_, unused);
  if (count == -EAGAIN)
    connection_.source(direction_).is_readable = false;
  else if (count <= 0)
    has_source_ended_ = true;
  else
    judge(count);
  return count;
}

/** A full buffer makes a bulk transfer; small reads, one after the other, end it. */
void Lane::judge(ssize_t count) {
  if (static_cast<size_t>(count) >= connection_.worker().buffer.size()) is_bulk_ = true;
  small_reads_ = is_bulk_ && count < kSmallRead ? small_reads_ + 1 : 0;
  if (small_reads_ == kSmallReadsOfBulk) is_bulk_ = false;
}

ssize_t Lane::copy(size_t most) {
  auto& buffer = connection_.worker().buffer;
  most = std::min(most, buffer.size());
  const bool is_early = !early_.empty();
  const ssize_t count = take(buffer.data(), most);
  if (count <= 0) return count;
  const auto size = static_cast<size_t>(count);
  Leg& source = connection_.source(direction_);
  // A short read has drained the socket, and saves the next one; unless the end or more lies behind, which
  // make no new edge.
  if (!is_early && size < most && !source.has_ended && !source.has_urgent) source.is_readable = false;
  if (!is_bulk_ && size < most) connection_.worker().loop.saw_small();
  write(buffer.data(), size);
  return count;
}

ssize_t Lane::take(char* bytes, size_t most) {
  if (early_.empty()) return sys::receive(connection_.source(direction_).fd(), bytes, most);
  const size_t count = std::min(most, early_.size() - early_at_);
  std::memcpy(bytes, early_.data() + early_at_, count);
  early_at_ += count;
  if (early_at_ == early_.size()) early_ = {};
  return static_cast<ssize_t>(count);
}

void Lane::write(const char* bytes, size_t count) {
  const ssize_t written = sys::transmit(connection_.sink(direction_).fd(), bytes, count);
  const size_t taken = static_cast<size_t>(std::max<ssize_t>(written, 0));
  delivered(taken);
  if (taken == count) return;
  // What a broken sink did not take is kept, too: flushing it tells of the error.
  is_sink_full_ = written >= 0 || written == -EAGAIN;
  pending_at_ = 0;
  pending_end_ = static_cast<uint32_t>(count - taken);
  pending_.reset(new char[pending_end_]);
  std::memcpy(pending_.get(), bytes + taken, pending_end_);
}

ssize_t Lane::splice(size_t most) {
  Worker& worker = connection_.worker();
  if (!pipe_.read && !worker.pipes.take(pipe_)) return copy(most);
  const ssize_t count = sys::splice_in(connection_.source(direction_).fd(), pipe_, most);
  if (count > 0) {
    in_pipe_ = static_cast<uint32_t>(count);
    connection_.gate().tell_splice_selected();
    return count;
  }
  release_pipe();
  if (!is_no_splice(count)) return count;
  can_splice_ = false;
  connection_.gate().tell_splice_unsupported(static_cast<int>(-count));
  return copy(most);
}

bool Lane::may_splice() const {
  return is_bulk_ && can_splice_ && early_.empty() && connection_.worker().shared.may_splice &&
         !connection_.pass().is_rated(direction_);
}

size_t Lane::turn_bytes() const {
  const size_t most = connection_.worker().loop.turn_bytes();
  return may_splice() ? most : std::min(most, kCopyTurnBytes);
}

void Lane::pass_end() {
  if (is_draining_ || is_shut_) return;
  is_shut_ = true;
  release_pipe();
  // Where both have ended, closing says so.
  if (!connection_.has_shut(opposite(direction_))) sys::shut_write(connection_.sink(direction_).fd());
}

void Lane::delivered(size_t count) {
  if (count > 0) connection_.delivered(direction_, static_cast<int64_t>(count));
}

void Lane::discard() {
  const int64_t lost = (pending_ != nullptr ? pending_end_ - pending_at_ : 0) + in_pipe_;
  if (lost > 0) connection_.pass().returned(direction_, lost);
  pending_.reset();
  if (in_pipe_ > 0) connection_.worker().pipes.drop(std::move(pipe_));
  in_pipe_ = 0;
  release_pipe();
  early_ = {};
  timer_.cancel();
  has_source_ended_ = is_shut_ = true;
}

void Lane::release_pipe() {
  if (pipe_.read) connection_.worker().pipes.give_empty(std::move(pipe_));
  pipe_ = {};
}

void Lane::sleep(int64_t wait_us) {
  is_asleep_ = true;
  if (wait_us == Bucket::kNever) return;
  Loop& loop = connection_.worker().loop;
  loop.wheel().arm(timer_, (loop.now_us() + wait_us + 999) / 1000);
}

void Lane::wake() {
  is_asleep_ = false;
  connection_.go_on();
}

void Lane::ask_again() {
  timer_.cancel();
  connection_.pass().forget_wait(direction_, connection_.worker().loop.now_us());
  is_asleep_ = false;
}

}  // namespace sluice
