#include "connection.h"

#include <cerrno>

namespace sluice {

namespace {
/** FIN without a byte may be a half-close, if an odd one: a dial that is quick still serves it. */
constexpr int64_t kSilentEndMs = 1'000;
/** What was received before one side broke may take this long to reach the other. */
constexpr int64_t kFlushMs = 5'000;
/** A target that is still there then is watched for its silent end. Most are not, and need no such calls. */
constexpr int64_t kKeepAliveMs = 10'000;
}  // namespace

Connection::Connection(StreamGate& gate, Caller caller)
    : gate_(gate),
      caller_(std::move(caller.leg)),
      pass_(gate.rule->meters),
      caller_address_(caller.address),
      port_index_(caller.port_index),
      is_watched_(caller.is_watched) {
  caller_->belong_to(*this);
  lane(Direction::in).begin_with(std::move(caller.early));
}

void Connection::begin() {
  gate_.counters.connections.add(1);
  gate_.counters.ports[port_index_].active.add(1);
  reach_ = std::make_unique<Reach>(gate_, port_index_, *this);
  reach_->begin();
  // The target's events come before the caller's: what it says is read when there is somebody to hear it.
  if (!has_ended_ && !is_watched_ && worker().loop.watch(caller_->fd(), *caller_) < 0) end(Ending::reset);
}

void Connection::leg_ready(Leg& leg, uint32_t events) {
  if (has_ended_) return;
  if (!target_) return caller_ready(events);
  const Direction from = &leg == caller_.get() ? Direction::in : Direction::out;
  const Direction to = opposite(from);
  if (events & EPOLLERR)
    broke(from);
  else if (is_queued() || lanes_[0].is_bulk() || lanes_[1].is_bulk())
    return worker().loop.put_off(*this);  // its turn sees to all of it
  else if (leg.is_readable)
    run(from);
  if (!has_ended_ && (events & EPOLLOUT) && lane(to).has_work()) run(to);
  settle();
}

/** There is no target yet. Who sent bytes and FIN may be half-closed, waits for the answer, and has not left.
 */
void Connection::caller_ready(uint32_t events) {
  if (events & (EPOLLERR | EPOLLHUP)) return end(Ending::reset);
  char byte = 0;
  if (events & EPOLLRDHUP && !lane(Direction::in).is_early() && sys::peek(caller_->fd(), &byte, 1) == 0)
    worker().loop.arm(timer_, kSilentEndMs);
}

void Connection::reached(Reached reached) {
  worker().loop.bury(std::move(reach_));
  timer_.cancel();
  target_ = std::move(reached.leg);
  target_->belong_to(*this);
  target_index_ = reached.target;
  target_address_ = reached.address;
  const Reason refusal = gate_.judge_target(target_address_, gate_.rule->targets[target_index_].host);
  if (refusal != kNoReason) return unreached(refusal);
  gate_.counters.targets[target_index_].connections.add(1);
  if (reached.is_failover) gate_.counters.failovers.add(1);
  active_ms_ = worker().loop.now_ms();
  watch_silence();
  go_on();
}

void Connection::unreached(Reason refusal) {
  if (refusal != kNoReason) gate_.rule->reject(refusal);
  end(Ending::reset);
}

void Connection::go_on() {
  if (has_ended_ || !target_) return;
  if (lane(Direction::in).has_work()) run(Direction::in);
  if (!has_ended_ && lane(Direction::out).has_work()) run(Direction::out);
  settle();
}

void Connection::run(Direction direction) {
  switch (lane(direction).pump()) {
    case Lane::Outcome::waiting: return;
    case Lane::Outcome::tired: return worker().loop.put_off(*this);
    case Lane::Outcome::source_broke: return broke(direction);
    case Lane::Outcome::sink_broke: return broke(opposite(direction));
  }
}

/** What this side said before it broke is flushed to the other, which is then reset. */
void Connection::broke(Direction source) {
  if (has_ended_ || (is_broken_ && broken_source_ == source)) return;
  if (is_broken_) return end(Ending::reset);
  is_broken_ = true;
  broken_source_ = source;
  worker().loop.arm(timer_, kFlushMs);
  lane(opposite(source)).discard();
  lane(source).drain();
  this->source(source).is_readable = this->source(source).has_ended = true;
  run(source);
}

void Connection::settle() {
  if (has_ended_) return;
  if (is_broken_) {
    if (lane(broken_source_).is_drained()) end(Ending::reset);
    return;
  }
  if (lanes_[0].is_shut() && lanes_[1].is_shut()) end(Ending::close);
}

void Connection::delivered(Direction direction, int64_t count) {
  const size_t index = index_of(direction);
  gate_.counters.ports[port_index_].bytes[index].add(count);
  gate_.counters.targets[target_index_].bytes[index].add(count);
  active_ms_ = worker().loop.now_ms();
  pass_.delivered(direction, count);
}

void Connection::watch_silence() {
  const int64_t idle_ms = gate_.rule->idle_ms;
  int64_t next_ms = is_kept_alive_ ? 0 : kKeepAliveMs;
  if (idle_ms > 0 && (next_ms == 0 || idle_ms < next_ms)) next_ms = idle_ms;
  if (next_ms > 0) worker().loop.wheel().arm(timer_, active_ms_ + next_ms);
}

void Connection::tick() {
  const int64_t now_ms = worker().loop.now_ms();
  if (!target_ || is_broken_) return end(Ending::reset);
  if (lanes_[0].is_waiting_for_meter() || lanes_[1].is_waiting_for_meter()) active_ms_ = now_ms;
  const int64_t idle_ms = gate_.rule->idle_ms;
  if (idle_ms > 0 && now_ms - active_ms_ >= idle_ms) return end(Ending::reset);
  if (!is_kept_alive_) sys::keep_alive(target_->fd());
  is_kept_alive_ = true;
  watch_silence();
}

void Connection::judge() {
  Reason refusal = gate_.judge_source(caller_address_);
  if (refusal == kNoReason && target_)
    refusal = gate_.judge_target(target_address_, gate_.rule->targets[target_index_].host);
  if (refusal == kNoReason) return;
  gate_.rule->reject(refusal);
  end(Ending::reset);
}

void Connection::ask_again() {
  if (!lanes_[0].is_waiting_for_meter() && !lanes_[1].is_waiting_for_meter()) return;
  for (Lane& lane : lanes_)
    if (lane.is_waiting_for_meter()) lane.ask_again();
  go_on();
}

void Connection::end(Ending ending) {
  if (has_ended_) return;
  has_ended_ = true;
  timer_.cancel();
  worker().loop.cancel(*this);
  if (reach_) {
    reach_->give_up();
    worker().loop.bury(std::move(reach_));
  }
  for (Lane& lane : lanes_) lane.discard();
  bury(std::move(caller_), ending);
  if (target_) bury(std::move(target_), ending);
  pass_.leave();
  gate_.counters.ports[port_index_].active.add(-1);
  worker().shared.descriptors.give(StreamGate::kDescriptors);
  gate_.part(*this);
}

void Connection::bury(std::unique_ptr<Leg> leg, Ending ending) {
  if (ending == Ending::reset)
    leg->reset();
  else
    leg->close();
  worker().loop.bury(std::move(leg));
}

}  // namespace sluice
