#include "connection.h"

#include <algorithm>

namespace sluice {

namespace {
/** A FIN without data may be a half-close, so the dial still has this long to succeed. */
constexpr int64_t kSilentCloseMs = 1'000;
/** When one side fails, its bytes in flight are still forwarded, as long as some move within this time. */
constexpr int64_t kFlushTimeoutMs = 5'000;
constexpr int64_t kFlushCheckMs = 50;
/** Age at which a target's socket gets keepalive. Most connections end earlier and save the calls. */
constexpr int64_t kKeepAliveMs = 10'000;
}  // namespace

Connection::Connection(TcpRuleShard& shard, Caller caller)
    : shard_(shard),
      caller_(std::move(caller.endpoint)),
      admission_(shard.rule->meters),
      id_(shard.worker.new_id()),
      caller_address_(caller.named.source),
      port_index_(caller.port_index),
      opened_ms_(shard.worker.loop.now_ms()),
      is_caller_watched_(caller.is_watched) {
  caller_->set_owner(*this);
  pump(Direction::in).set_early_data(std::move(caller.early_data));
  if (shard.rule->preamble)
    pump(Direction::in)
        .set_preamble(worker().write_preamble(
            *shard.rule, caller_address_,
            caller.named.destination.value_or(sys::local_address(caller_->fd())), caller.server_name));
  if (shard.rule->has_dialer())
    dial_caller_ = std::make_unique<const std::string>(write_dial_caller(
        caller_address_, caller.named.destination.value_or(sys::local_address(caller_->fd())), caller.server_name));
  if (shard.rule->report_ends && !caller.server_name.empty())
    server_name_ = std::make_unique<const std::string>(std::move(caller.server_name));
}

Reason Connection::enter() {
  Reason refusal = shard_.enter_source(caller_address_, source_uses_);
  if (refusal == kNoReason) refusal = shard_.enter_divert(caller_address_, divert_, divert_use_);
  return refusal != kNoReason ? refusal : admission_.enter(worker().loop.now_us());
}

void Connection::begin() {
  shard_.counters.connections.add(1);
  shard_.counters.ports[port_index_].active.add(1);
  dialer_ = std::make_unique<Dialer>(shard_, port_index_, caller_address_, dial_caller_.get(), divert_, *this);
  dialer_->begin();
  // Watched after the target's socket, so that epoll reports the target first.
  if (has_ended_) return;
  if (is_caller_watched_) return caller_->has_ended ? on_caller_event(EPOLLRDHUP) : void();
  if (const int error = worker().loop.watch(caller_->fd(), *caller_))
    refuse(worker().context.local_refusal(-error));
}

void Connection::endpoint_ready(Endpoint& endpoint, uint32_t events) {
  if (has_ended_) return;
  if (!target_) return on_caller_event(events);
  const Direction from = &endpoint == caller_.get() ? Direction::in : Direction::out;
  const Direction to = opposite(from);
  if (events & EPOLLERR || (events & EPOLLHUP && is_reset_by_dialer(from)))
    side_failed(from);
  else if (is_queued() || pumps_[0].is_bulk() || pumps_[1].is_bulk())
    return worker().loop.defer(*this);  // `resume` runs both pumps
  else if (endpoint.is_readable)
    run_pump(from);
  if (!has_ended_ && (events & EPOLLOUT) && pump(to).has_work()) run_pump(to);
  end_if_done();
}

/** Handles events during the dial. A FIN after data is a half-close: the caller waits for the answer. */
void Connection::on_caller_event(uint32_t events) {
  if (events & (EPOLLERR | EPOLLHUP)) return end(Ending::reset, ConnectionEnd::caller_reset);
  char byte = 0;
  if (events & EPOLLRDHUP && !pump(Direction::in).has_early_data() && sys::peek(caller_->fd(), &byte, 1) == 0)
    worker().loop.arm_after(timer_, kSilentCloseMs);
}

void Connection::dial_succeeded(ConnectedTarget connected) {
  worker().loop.delete_later(std::move(dialer_));
  timer_.cancel();
  target_ = std::move(connected.endpoint);
  target_->set_owner(*this);
  stream_ = std::move(connected.stream);
  dial_caller_.reset();
  target_index_ = connected.target;
  use_ = std::move(connected.use);
  target_address_ = connected.address;
  if (shard_.is_reset(target_index_)) return reset(ConnectionEnd::rule_closed);
  if (const Reason refusal = check_target()) return refuse(refusal);
  shard_.counters.targets[target_index_].connections.add(1);
  if (connected.is_failover && divert_ == nullptr) shard_.counters.failovers.add(1);
  active_ms_ = checked_ms_ = worker().loop.now_ms();
  arm_idle_timer();
  // The caller's first bytes leave together with the preamble; their event may come later in this batch.
  if (shard_.rule->preamble) caller_->is_readable = true;
  resume();
}

void Connection::dial_failed(Reason refusal) {
  if (refusal != kNoReason) return refuse(refusal);
  shard_.rule->reject(worker().context.refusals.no_target);
  end(Ending::reset, ConnectionEnd::dial_failed);
}

void Connection::refuse(Reason refusal) {
  shard_.rule->reject(refusal);
  end(Ending::reset, ConnectionEnd::refused, refusal);
}

void Connection::resume() {
  if (has_ended_ || !target_) return;
  if (pump(Direction::in).has_work()) run_pump(Direction::in);
  if (!has_ended_ && pump(Direction::out).has_work()) run_pump(Direction::out);
  end_if_done();
}

void Connection::run_pump(Direction direction) {
  switch (pump(direction).run()) {
    case Pump::Outcome::waiting: return;
    case Pump::Outcome::yielded: return worker().loop.defer(*this);
    case Pump::Outcome::source_failed: return side_failed(direction);
    case Pump::Outcome::sink_failed: return side_failed(opposite(direction));
  }
}

/** Flushes bytes of the failed side to the other side, then resets both. The failed side gets no more bytes. */
void Connection::side_failed(Direction source) {
  if (has_ended_ || (has_failed_side_ && failed_source_ == source)) return;
  if (has_failed_side_) return end_failed();
  has_failed_side_ = true;
  failed_source_ = source;
  active_ms_ = worker().loop.now_ms();
  worker().loop.arm_after(timer_, kFlushTimeoutMs);
  pump(opposite(source)).discard();
  pump(source).drain();
  this->source(source).is_readable = this->source(source).has_ended = true;
  run_pump(source);
}

void Connection::end_if_done() {
  if (has_ended_) return;
  if (has_failed_side_) {
    if (pump(failed_source_).is_closed()) end_when_acknowledged();
    return;
  }
  if (!pumps_[0].is_closed() || !pumps_[1].is_closed()) return;
  end(Ending::close,
      ended_first_ == Direction::in ? ConnectionEnd::caller_closed : ConnectionEnd::target_closed);
}

/** Lets the kernel send written bytes, which a reset would drop. A dialer's stream keeps them. */
void Connection::end_when_acknowledged() {
  if (stream_ && failed_source_ == Direction::in) return end_failed();
  const int64_t left = sys::unacknowledged(sink(failed_source_).fd());
  const int64_t now_ms = worker().loop.now_ms();
  if (left < unacknowledged_) active_ms_ = now_ms;
  unacknowledged_ = left;
  if (left == 0 || now_ms - active_ms_ >= kFlushTimeoutMs) return end_failed();
  worker().loop.arm_after(timer_, kFlushCheckMs);
}

void Connection::end_failed() {
  end(Ending::reset,
      failed_source_ == Direction::in ? ConnectionEnd::caller_reset : ConnectionEnd::target_reset);
}

void Connection::arm_idle_timer() {
  int64_t at_ms = INT64_MAX;
  if (!is_kept_alive_) at_ms = active_ms_ + kKeepAliveMs;
  if (const int64_t idle_ms = shard_.rule->idle_ms) at_ms = std::min(at_ms, active_ms_ + idle_ms);
  if (const int64_t check_ms = peer_check_ms()) at_ms = std::min(at_ms, checked_ms_ + check_ms);
  if (at_ms != INT64_MAX) worker().loop.timers().arm(timer_, at_ms);
}

/** The interval of the checks for dead peers; 0: none. */
int64_t Connection::peer_check_ms() const {
  const int64_t dead_ms = shard_.worker.context.dead_peer_ms;
  return dead_ms == 0 ? 0 : std::max<int64_t>(dead_ms / DeadPeer::kChecks, 1);
}

/** Ends the connection if a peer acknowledges nothing. Makes no system call if nothing was sent since the last check. */
void Connection::check_peers(int64_t now_ms) {
  const int64_t check_ms = peer_check_ms();
  if (check_ms == 0 || now_ms - checked_ms_ < check_ms) return;
  const bool is_quiet = active_ms_ < checked_ms_ && !pumps_[0].is_closed() && !pumps_[1].is_closed();
  checked_ms_ = now_ms;
  for (const Direction direction : {Direction::in, Direction::out}) {
    DeadPeer& peer = peers_[index_of(direction)];
    if ((is_quiet && peer.is_clean()) || !peer.check(sys::unanswered(source(direction).fd()))) continue;
    side_failed(direction);
    return end_if_done();
  }
}

void Connection::on_timer() {
  const int64_t now_ms = worker().loop.now_ms();
  if (!target_) return end(Ending::reset, ConnectionEnd::caller_closed);
  if (has_failed_side_) return on_flush_timer(now_ms);
  if (pumps_[0].is_held() || pumps_[1].is_held()) active_ms_ = now_ms;
  const int64_t idle_ms = shard_.rule->idle_ms;
  if (idle_ms > 0 && now_ms - active_ms_ >= idle_ms) return end(Ending::reset, ConnectionEnd::idle);
  if (!is_kept_alive_) sys::keep_alive(target_->fd());
  is_kept_alive_ = true;
  check_peers(now_ms);
  if (!has_ended_ && !has_failed_side_) arm_idle_timer();
}

void Connection::on_flush_timer(int64_t now_ms) {
  if (pump(failed_source_).is_closed()) return end_when_acknowledged();
  if (now_ms - active_ms_ >= kFlushTimeoutMs) return end_failed();
  worker().loop.timers().arm(timer_, active_ms_ + kFlushTimeoutMs);
}

void Connection::recheck_filters() {
  Reason refusal = shard_.recheck_source(caller_address_);
  if (refusal == kNoReason && target_) refusal = check_target();
  if (refusal != kNoReason) refuse(refusal);
}

/** Filters do not judge what a dialer reaches. */
Reason Connection::check_target() {
  if (stream_) return kNoReason;
  return shard_.check_target(target_address_, shard_.rule->targets[target_index_].host);
}

OpenConnection Connection::row() const {
  const int64_t now_ms = shard_.worker.loop.now_ms();
  int held_by = -1;
  for (const Direction direction : {Direction::in, Direction::out})
    if (held_by < 0 && pumps_[index_of(direction)].is_held()) held_by = admission_.held_by(direction);
  return {.id = id_,
          .rule = shard_.rule->id,
          .source = caller_address_,
          .listen = {},
          .target = target_address_,
          .target_index = shard_.index_in_group(target_index_, divert_),
          .divert = shard_.name_of(divert_),
          .age_ms = now_ms - opened_ms_,
          .idle_ms = now_ms - std::max(opened_ms_, active_ms_),
          .bytes = bytes_,
          .held_by = held_by,
          .sockets = {caller_->fd(), target_ ? target_->fd() : -1}};
}

void Connection::retry_metering() {
  if (!pumps_[0].is_held() && !pumps_[1].is_held()) return;
  for (Pump& pump : pumps_)
    if (pump.is_held()) pump.retry_metering();
  resume();
}

void Connection::end(Ending ending, ConnectionEnd why, Reason refusal) {
  if (has_ended_) return;
  has_ended_ = true;
  timer_.cancel();
  worker().loop.cancel(*this);
  if (dialer_) {
    dialer_->cancel();
    worker().loop.delete_later(std::move(dialer_));
  }
  for (Pump& pump : pumps_) pump.discard();
  if (shard_.rule->report_ends) report_end(why, refusal);
  close_endpoint(std::move(caller_), ending);
  if (stream_ && ending == Ending::reset) reset_stream();
  if (target_) close_endpoint(std::move(target_), ending);
  admission_.leave();
  use_.release();
  source_uses_.release();
  divert_use_.release();
  shard_.counters.ports[port_index_].active.add(-1);
  shard_.rule->descriptors->release(TcpRuleShard::kDescriptors);
  shard_.remove(*this);
}

/** Called before the socket is closed. JavaScript finds the flag at the end of the bytes, or learns of it after an end. */
void Connection::reset_stream() {
  stream_->is_reset_by_engine.store(true);
  worker().context.events.push({.kind = EngineEvent::Kind::stream_reset, .value = stream_->token});
}

void Connection::report_end(ConnectionEnd why, Reason refusal) {
  const int64_t duration_ms = worker().loop.now_ms() - opened_ms_;
  worker().ended.add({.rule = shard_.rule->id,
                      .owner = shard_.rule->descriptors.get(),
                      .source = caller_address_,
                      .listen = sys::local_address(caller_->fd()),
                      .target = target_address_,
                      .target_index = shard_.index_in_group(target_index_, divert_),
                      .opened_at_ms = sys::unix_ms() - duration_ms,
                      .duration_ms = duration_ms,
                      .bytes = bytes_,
                      .end = why,
                      .refusal = refusal,
                      .server_name = server_name(),
                      .divert = shard_.name_of(divert_)});
}

void Connection::close_endpoint(std::unique_ptr<Endpoint> endpoint, Ending ending) {
  if (ending == Ending::reset)
    endpoint->reset();
  else
    endpoint->close();
  worker().loop.delete_later(std::move(endpoint));
}

}  // namespace sluice
