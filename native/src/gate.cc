#include "gate.h"

#include <string.h>

#include <algorithm>

namespace sluice {

Gate::Gate(Worker& worker, std::shared_ptr<Rule> rule)
    : worker(worker),
      rule(std::move(rule)),
      counters(*this->rule->counters[worker.index]),
      filters_age_(this->rule->filters_age.load(std::memory_order_acquire)) {
  filters_ = this->rule->current_filters();
}

/** New ones hold for whoever comes in after they were set, on every thread. */
const Filters& Gate::filters() {
  const uint32_t age = rule->filters_age.load(std::memory_order_acquire);
  if (age != filters_age_) filters_ = rule->current_filters();
  filters_age_ = age;
  return *filters_;
}

void Gate::close(int64_t drain_ms) {
  is_shut_ = true;
  const int64_t at_ms = worker.loop.now_ms() + drain_ms;
  if (drain_ms <= 0)
    cut();
  else if (!drain_.is_armed() || at_ms < drain_.at_ms())
    worker.loop.wheel().arm(drain_, at_ms);
  end_when_empty();
}

bool Gate::passes(const Meter& meter) const {
  return std::any_of(rule->meters.begin(), rule->meters.end(),
                     [&](const auto& one) { return one.get() == &meter; });
}

Reason Gate::judge_target(const Address& address, const std::string& host) {
  const Shared& shared = worker.shared;
  const OwnPorts& own = rule->is_udp ? shared.udp_ports : shared.tcp_ports;
  return own.includes(address, shared.bind) ? shared.why.loop : filters().judge_target(address, host);
}

void Gate::dns_failed(const std::string& host, const std::string& reason) {
  counters.dns_failures.add(1);
  Event event{Event::Kind::dns_failed, rule->id};
  event.words = host;
  event.reason = reason;
  worker.shared.events.may_tell(std::move(event));
}

void Gate::tell_splice_selected() {
  if (rule->splice_was_told.load(std::memory_order_relaxed) || rule->splice_was_told.exchange(true)) return;
  worker.shared.events.may_tell(Event{Event::Kind::splice_selected, rule->id});
}

void Gate::tell_splice_unsupported(int error) {
  if (rule->no_splice_was_told.exchange(true)) return;
  Event event{Event::Kind::splice_unsupported, rule->id};
  event.words = strerrorname_np(error);
  worker.shared.events.may_tell(std::move(event));
}

void Gate::end_when_empty() {
  if (!is_shut_ || has_ended_ || !is_empty()) return;
  has_ended_ = true;
  drain_.cancel();
  worker.ended(*this);
}

}  // namespace sluice
