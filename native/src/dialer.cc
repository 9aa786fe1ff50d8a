#include "dialer.h"

#include <algorithm>
#include <cerrno>

namespace sluice {

namespace {

constexpr int64_t kAttemptTimeoutMs = 3'000;
constexpr int64_t kAttemptDelayMs = 250;
constexpr int64_t kDialTimeoutMs = 30'000;
constexpr int64_t kProbeTimeoutMs = 5'000;

const char* failure_reason(int error) {
  switch (error) {
    case ECONNREFUSED: return "refused";
    case ETIMEDOUT: return "timeout";
    case ECONNRESET:
    case EPIPE: return "reset";
    case -sys::kNoSuchSource: return "source_unavailable";
    default: return "unreachable";
  }
}

}  // namespace

void Dialer::begin() {
  deadline_ms_ = worker().loop.now_ms() + kDialTimeoutMs;
  are_all_failed_ = chooser_ == nullptr && shard_.rule->health.are_all_failed(targets_.first, targets_.end);
  next_target();
}

void Dialer::begin_probe(int target) {
  is_probe_ = true;
  deadline_ms_ = worker().loop.now_ms() + kProbeTimeoutMs;
  target_ = target;
  shard_.rule->health.begin(target);
  try_target();
}

void Dialer::cancel() {
  is_done_ = true;
  timer_.cancel();
  drop_all_attempts();
  remaining_.clear();
  attempt_.abandon();
  use_.release();
  if (token_ != 0) worker().names.cancel(std::exchange(token_, 0));
  if (dial_token_ != 0) worker().target_dials.cancel(std::exchange(dial_token_, 0));
}

void Dialer::next_target() {
  attempt_.abandon();
  use_.release();
  TargetHealth& health = shard_.rule->health;
  while (!is_probe_ && advance()) {
    if (are_all_failed_ || choice_.ignores_health)
      health.begin(target_);
    else if (!health.begin_if_due(target_, worker().loop.now_ms()))
      continue;
    use_ = TargetUse(shard_.counters.targets[target_]);
    return try_target();
  }
  finish_failed();
}

/** Moves to the next target by the rule's balance or order; false: there is none. */
bool Dialer::advance() {
  if (chooser_ == nullptr) return ++target_ < targets_.end;
  target_ = chooser_->next(choice_, worker().loop.now_ms());
  return target_ >= 0;
}

void Dialer::try_target() {
  using Source = TargetHealth::Source;
  attempt_ = TargetAttempt(shard_.rule->health, target_, is_probe_ ? Source::probe : Source::traffic);
  first_failure_ = nullptr;
  const Target& target = this->target();
  if (!target.dialer.empty()) return ask_dialer();
  if (target.literal) return dial_literal(*target.literal);
  Names& names = worker().names;
  if (const auto known = names.find(shard_.rule->id, target.host)) return on_resolved(*known);
  token_ = names.ask(*this, shard_.rule->id, target.host);
  arm();
}

void Dialer::on_resolved(const ResolveAnswer& answer) {
  token_ = 0;
  if (is_done_) return;
  if (answer.is_ok) return dial_addresses(answer.addresses);
  shard_.dns_failed(target().host, answer.reason);
  attempt_.fail_lookup(answer.reason, worker().loop.now_ms());
  fail_over();
}

void Dialer::ask_dialer() {
  dialed_at_ms_ = worker().loop.now_ms();
  next_attempt_ms_ = 0;
  dial_token_ = worker().target_dials.ask(
      *this, {shard_.rule->id, target_, port_index_, dial_caller_ != nullptr ? *dial_caller_ : std::string()});
  arm();
}

std::shared_ptr<DialerEnd> Dialer::on_dialed(int64_t token, const DialAnswer& answer) {
  dial_token_ = 0;
  if (answer.is_ok && !is_probe_) return open_stream(token, answer.address);
  if (answer.is_ok)
    connected(nullptr, answer.address, nullptr);
  else if (answer.refusal == kNoReason)
    target_failed(answer.failure.c_str());
  else {
    if (refusal_ == kNoReason) refusal_ = answer.refusal;
    next_target();
  }
  return nullptr;
}

/** Connects the caller with a new stream. Returns the dialer's end; null: this host lacks something. */
std::shared_ptr<DialerEnd> Dialer::open_stream(int64_t token, const Address& address) {
  EngineContext& context = worker().context;
  const auto& share = shard_.rule->descriptors;
  Reason lack = context.reserve(*share, 1);
  if (lack == kNoReason) {
    const auto stream = std::make_shared<DialedStream>(token);
    const auto end = std::make_shared<DialerEnd>(stream, Fd(), share);
    Fd own;
    int error = sys::open_pair(own, end->socket);
    auto endpoint = std::make_unique<Endpoint>(std::move(own));
    if (error == 0) error = worker().loop.watch(endpoint->fd(), *endpoint);
    if (error == 0) {
      connected(std::move(endpoint), address, stream);
      return end;
    }
    lack = context.local_refusal(-error);
  }
  if (refusal_ == kNoReason) refusal_ = lack;
  target_failed(nullptr);
  return nullptr;
}

bool Dialer::is_allowed(const Address& address) {
  const Reason refusal = shard_.check_target(address, target().host);
  if (refusal_ == kNoReason) refusal_ = refusal;
  return refusal == kNoReason;
}

/** The usual case of one address: it needs no lists. */
void Dialer::dial_literal(const Address& address) {
  const Address dialed = address.with_port(static_cast<uint16_t>(target().port + port_index_));
  if (!is_allowed(dialed)) return next_target();
  dialed_at_ms_ = worker().loop.now_ms();
  next_attempt_ms_ = 0;
  if (!connect(dialed)) return target_failed(first_failure_);
  arm();
}

void Dialer::dial_addresses(const std::vector<Address>& addresses) {
  const auto port = static_cast<uint16_t>(target().port + port_index_);
  std::vector<Address> allowed;
  for (const Address& address : addresses)
    if (const Address dialed = address.with_port(port); is_allowed(dialed)) allowed.push_back(dialed);
  if (allowed.empty() && !addresses.empty()) return next_target();
  dialed_at_ms_ = worker().loop.now_ms();
  remaining_ = interleave(allowed, shard_.rule->prefer_ipv6);
  std::ranges::reverse(remaining_);
  dial_next_address();
}

void Dialer::dial_next_address() {
  next_attempt_ms_ = 0;
  while (!remaining_.empty() && may_attempt()) {
    const Address address = remaining_.back();
    remaining_.pop_back();
    if (!connect(address)) {
      give_back_descriptor();
      continue;
    }
    if (!remaining_.empty()) next_attempt_ms_ = worker().loop.now_ms() + kAttemptDelayMs;
    break;
  }
  if (attempts_.empty()) return target_failed(first_failure_);
  arm();
}

/** Reserves a descriptor for an attempt beside others. False: none is left, so the next one waits until one has ended. */
bool Dialer::may_attempt() {
  if (attempts_.empty()) return true;
  if (!shard_.rule->descriptors->reserve_own()) return false;
  further_attempts_++;
  return true;
}

/** Called after an attempt has ended. */
void Dialer::give_back_descriptor() {
  if (further_attempts_ == 0) return;
  further_attempts_--;
  shard_.rule->descriptors->release(1);
}

bool Dialer::connect(const Address& address) {
  EngineContext& context = worker().context;
  const int64_t now_ms = worker().loop.now_ms();
  const Address* from = shard_.rule->dial_from.for_target(address);
  Fd socket;
  const bool are_used_up = context.local_ports.are_used_up(address, from, now_ms);
  int error = are_used_up ? -EADDRNOTAVAIL : sys::connect_to(address, from, socket);
  if (error == -EADDRNOTAVAIL && !are_used_up) context.local_ports.used_up(address, from, now_ms);
  if (error == 0) {
    auto endpoint = std::make_unique<Endpoint>(std::move(socket), this);
    error = worker().loop.watch(endpoint->fd(), *endpoint);
    if (error == 0) {
      attempts_.push_back({std::move(endpoint), address, now_ms + kAttemptTimeoutMs});
      return true;
    }
  }
  const Reason own = context.local_refusal(-error);
  if (own == kNoReason && first_failure_ == nullptr) first_failure_ = failure_reason(-error);
  if (refusal_ == kNoReason) refusal_ = own;
  return false;
}

void Dialer::endpoint_ready(Endpoint& endpoint, uint32_t events) {
  const auto found = std::ranges::find_if(
      attempts_, [&](const Attempt& attempt) { return attempt.endpoint.get() == &endpoint; });
  if (is_done_ || found == attempts_.end()) return;
  const size_t index = found - attempts_.begin();
  if (events & EPOLLERR) {
    drop_attempt(index, failure_reason(sys::socket_error(endpoint.fd())));
    return dial_next_address();
  }
  if (events & EPOLLOUT) attempt_connected(index);
}

void Dialer::drop_attempt(size_t index, const char* reason) {
  if (first_failure_ == nullptr) first_failure_ = reason;
  attempts_[index].endpoint->close();
  worker().loop.delete_later(std::move(attempts_[index].endpoint));
  attempts_.erase(attempts_.begin() + static_cast<ptrdiff_t>(index));
  give_back_descriptor();
}

void Dialer::attempt_connected(size_t index) {
  if (const int socket = attempts_[index].endpoint->fd(); worker().is_self_connected(socket, attempts_[index].address)) {
    sys::arm_reset(socket);  // leaves the port free for the target
    drop_attempt(index, failure_reason(ECONNREFUSED));
    return dial_next_address();
  }
  Attempt attempt = std::move(attempts_[index]);
  attempts_.erase(attempts_.begin() + static_cast<ptrdiff_t>(index));
  connected(std::move(attempt.endpoint), attempt.address, nullptr);
}

void Dialer::connected(std::unique_ptr<Endpoint> endpoint, const Address& address,
                       std::shared_ptr<DialedStream> stream) {
  attempt_.succeed();
  TargetCounters& counters = shard_.counters.targets[target_];
  counters.connects.add(1);
  counters.connect_ms.add(worker().loop.now_ms() - dialed_at_ms_);
  TargetUse use = std::move(use_);
  cancel();
  owner_.dial_succeeded(
      {std::move(endpoint), target_, address, is_failover_, std::move(use), std::move(stream)});
}

void Dialer::target_failed(const char* reason) {
  if (reason != nullptr) attempt_.fail(reason, worker().loop.now_ms());
  fail_over();
}

void Dialer::fail_over() {
  is_failover_ = true;
  next_target();
}

void Dialer::finish_failed() {
  cancel();
  owner_.dial_failed(refusal_);
}

void Dialer::drop_all_attempts() {
  while (!attempts_.empty()) drop_attempt(attempts_.size() - 1, nullptr);
}

void Dialer::on_timer() {
  const int64_t now_ms = worker().loop.now_ms();
  if (now_ms >= deadline_ms_) {
    if (is_probe_) attempt_.fail("timeout", now_ms);
    refusal_ = kNoReason;
    return finish_failed();
  }
  bool is_slow = false;
  for (size_t i = attempts_.size(); i-- > 0;) {
    if (attempts_[i].deadline_ms > now_ms) continue;
    drop_attempt(i, "timeout");
    is_slow = true;
  }
  if (is_slow || (next_attempt_ms_ != 0 && now_ms >= next_attempt_ms_)) return dial_next_address();
  arm();
}

void Dialer::arm() {
  int64_t at_ms = deadline_ms_;
  if (next_attempt_ms_ != 0) at_ms = std::min(at_ms, next_attempt_ms_);
  for (const Attempt& attempt : attempts_) at_ms = std::min(at_ms, attempt.deadline_ms);
  worker().loop.timers().arm(timer_, at_ms);
}

}  // namespace sluice
