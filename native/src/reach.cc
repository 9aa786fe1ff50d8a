#include "reach.h"

#include <algorithm>
#include <cerrno>

namespace sluice {

namespace {

constexpr int64_t kAttemptMs = 3'000;
constexpr int64_t kStaggerMs = 250;
constexpr int64_t kAllMs = 30'000;
constexpr int64_t kProbeMs = 5'000;

/** Null: it is our own trouble, and says nothing about the target. */
const char* reason_of(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EADDRNOTAVAIL: return nullptr;
    case ECONNREFUSED: return "refused";
    case ETIMEDOUT: return "timeout";
    case ECONNRESET:
    case EPIPE: return "reset";
    default: return "unreachable";
  }
}

}  // namespace

void Reach::begin() {
  until_ms_ = worker().loop.now_ms() + kAllMs;
  is_desperate_ = gate_.rule->health.are_all_failed();
  next_target();
}

void Reach::begin_probe(int target) {
  is_probe_ = true;
  until_ms_ = worker().loop.now_ms() + kProbeMs;
  target_ = target;
  gate_.rule->health.begin(target);
  try_target();
}

void Reach::give_up() {
  is_done_ = true;
  timer_.cancel();
  drop_attempts();
  rest_.clear();
  try_.abandon();
  if (token_ != 0) worker().forget(std::exchange(token_, 0));
}

void Reach::next_target() {
  try_.abandon();
  Health& health = gate_.rule->health;
  const int count = is_probe_ ? 0 : static_cast<int>(gate_.rule->targets.size());
  while (++target_ < count) {
    if (is_desperate_)
      health.begin(target_);
    else if (!health.begin_if_worth(target_, worker().loop.now_ms()))
      continue;
    return try_target();
  }
  finish_unreached();
}

void Reach::try_target() {
  try_ = Try(gate_.rule->health, target_);
  failure_ = nullptr;
  const Target& target = this->target();
  if (target.literal) return dial({*target.literal});
  token_ = worker().ask(*this, gate_.rule->id, target.host);
  arm();
}

void Reach::answered(const Answer& answer) {
  token_ = 0;
  if (is_done_) return;
  if (answer.is_ok) return dial(answer.addresses);
  gate_.dns_failed(target().host, answer.reason);
  target_failed(answer.reason.c_str());
}

void Reach::dial(const std::vector<Address>& addresses) {
  const auto port = static_cast<uint16_t>(target().port + port_index_);
  std::vector<Address> allowed;
  for (const Address& address : addresses) {
    const Address place = address.with_port(port);
    const Reason why = gate_.judge_target(place, target().host);
    if (why == kNoReason)
      allowed.push_back(place);
    else if (refusal_ == kNoReason)
      refusal_ = why;
  }
  if (allowed.empty() && !addresses.empty()) {
    return next_target();
  }
  rest_ = interleave(allowed, gate_.rule->prefer_ipv6);
  std::reverse(rest_.begin(), rest_.end());
  dial_next();
}

void Reach::dial_next() {
  next_ms_ = 0;
  while (!rest_.empty()) {
    const Address address = rest_.back();
    rest_.pop_back();
    if (!connect(address)) continue;
    if (!rest_.empty()) next_ms_ = worker().loop.now_ms() + kStaggerMs;
    break;
  }
  if (attempts_.empty()) return target_failed(failure_);
  arm();
}

bool Reach::connect(const Address& address) {
  Fd socket;
  int error = sys::connect_to(address, socket);
  if (error == 0) {
    auto leg = std::make_unique<Leg>(std::move(socket), this);
    error = worker().loop.watch(leg->fd(), *leg);
    if (error == 0) {
      attempts_.push_back({std::move(leg), address, worker().loop.now_ms() + kAttemptMs});
      return true;
    }
  }
  if (failure_ == nullptr) failure_ = reason_of(-error);
  return false;
}

void Reach::leg_ready(Leg& leg, uint32_t events) {
  const auto found = std::find_if(attempts_.begin(), attempts_.end(),
                                  [&](const Attempt& attempt) { return attempt.leg.get() == &leg; });
  if (is_done_ || found == attempts_.end()) return;
  const size_t index = found - attempts_.begin();
  if (events & EPOLLERR) {
    lost(index, reason_of(sys::error_of(leg.fd())));
    return dial_next();
  }
  if (events & EPOLLOUT) won(index);
}

void Reach::lost(size_t index, const char* reason) {
  if (failure_ == nullptr) failure_ = reason;
  attempts_[index].leg->close();
  worker().loop.bury(std::move(attempts_[index].leg));
  attempts_.erase(attempts_.begin() + static_cast<ptrdiff_t>(index));
}

void Reach::won(size_t index) {
  Attempt attempt = std::move(attempts_[index]);
  attempts_.erase(attempts_.begin() + static_cast<ptrdiff_t>(index));
  try_.succeed();
  give_up();
  owner_.reached({std::move(attempt.leg), target_, attempt.address, is_failover_});
}

void Reach::target_failed(const char* reason) {
  if (reason != nullptr) try_.fail(reason, worker().loop.now_ms());
  is_failover_ = true;
  next_target();
}

void Reach::finish_unreached() {
  give_up();
  owner_.unreached(refusal_);
}

void Reach::drop_attempts() {
  while (!attempts_.empty()) lost(attempts_.size() - 1, nullptr);
}

void Reach::tick() {
  const int64_t now_ms = worker().loop.now_ms();
  if (now_ms >= until_ms_) {
    if (is_probe_) try_.fail("timeout", now_ms);
    refusal_ = kNoReason;
    return finish_unreached();
  }
  bool is_slow = false;
  for (size_t i = attempts_.size(); i-- > 0;) {
    if (attempts_[i].until_ms > now_ms) continue;
    lost(i, "timeout");
    is_slow = true;
  }
  if (is_slow || (next_ms_ != 0 && now_ms >= next_ms_)) return dial_next();
  arm();
}

void Reach::arm() {
  int64_t at_ms = until_ms_;
  if (next_ms_ != 0) at_ms = std::min(at_ms, next_ms_);
  for (const Attempt& attempt : attempts_) at_ms = std::min(at_ms, attempt.until_ms);
  worker().loop.wheel().arm(timer_, at_ms);
}

}  // namespace sluice
