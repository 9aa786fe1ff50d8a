#include "rule-shard.h"

#include <algorithm>

#include "error-name.h"

namespace sluice {

RuleShard::RuleShard(Worker& worker, std::shared_ptr<Rule> rule)
    : worker(worker),
      rule(std::move(rule)),
      counters(*this->rule->counters[worker.index]),
      chooser(this->rule->balance ? std::make_unique<TargetChooser>(*this->rule) : nullptr),
      filters_version_(this->rule->filters_version.load(std::memory_order_acquire)) {
  filters_ = this->rule->current_filters();
}

/** Returns the current filters: new ones apply to every caller accepted after the call that set them. */
const Filters& RuleShard::filters() {
  const uint32_t version = rule->filters_version.load(std::memory_order_acquire);
  if (version != filters_version_) filters_ = rule->current_filters();
  filters_version_ = version;
  return *filters_;
}

void RuleShard::close(int64_t drain_ms) {
  is_closed_ = true;
  const int64_t at_ms = worker.loop.now_ms() + drain_ms;
  if (drain_ms == 0)
    on_drained();
  else if (drain_ms > 0 && (!drain_timer_.is_armed() || at_ms < drain_timer_.at_ms()))
    worker.loop.timers().arm(drain_timer_, at_ms);
  end_when_empty();
}

void RuleShard::reset_targets(const std::vector<int>& targets) {
  reset_targets_.resize(rule->targets.size());
  for (const int target : targets)
    if (static_cast<size_t>(target) < reset_targets_.size()) reset_targets_[target] = true;
  end_reset();
}

bool RuleShard::uses_meter(const Meter& meter) const {
  return std::ranges::any_of(rule->meters, [&](const auto& one) { return one.get() == &meter; });
}

Reason RuleShard::check_target(const Address& address, const std::string& host) {
  const EngineContext& context = worker.context;
  const OwnPorts& own = rule->is_udp ? context.udp_ports : context.tcp_ports;
  if (own.includes(address, context.bind, worker.local_addresses)) return context.refusals.loop;
  return filters().check_target(address, host, worker.local_addresses);
}

/** A proxy in front does not count as a source, because it carries many callers and health checks. */
Reason RuleShard::enter_source(const Address& caller, SourceUses& uses) {
  const auto& limits = filters().source_limits;
  if (limits.empty() || is_trusted_sender(caller)) return kNoReason;
  const Source source = Source::of(caller);
  for (const SourceLimit& limit : limits) {
    if (limit.of == SourceLimit::Of::failed) continue;
    if (limit.of == SourceLimit::Of::fresh) {
      if (const Reason refusal = take_from(limit, source)) return refusal;
    } else if (limit.open->enter(source, limit.max)) {
      uses.add(limit.open, source);
    } else {
      return limit.refusal;
    }
  }
  return kNoReason;
}

void RuleShard::handshake_failed(const Address& caller) {
  if (is_trusted_sender(caller)) return;
  for (const SourceLimit& limit : filters().source_limits)
    if (limit.of == SourceLimit::Of::failed) take_from(limit, Source::of(caller));
}

Reason RuleShard::take_from(const SourceLimit& limit, const Source& source) {
  const auto taken =
      worker.context.source_rates.take(rule->descriptors.get(), limit.id, source, limit.max, limit.per_ms, worker.loop.now_ms());
  if (limit.refusal == kNoReason && taken == SourceRates::Taken::empty)
    worker.context.events.push_advisory({.kind = EngineEvent::Kind::source_over,
                                         .id = rule->id,
                                         .text = source.text(),
                                         .reason = limit.name});
  return taken == SourceRates::Taken::taken ? kNoReason : limit.refusal;
}

void RuleShard::dns_failed(const std::string& host, const std::string& reason) {
  counters.dns_failures.add(1);
  if (!dns_reports_.admit(worker.loop.now_ms())) return;
  worker.context.events.push_advisory(
      {.kind = EngineEvent::Kind::dns_failed, .id = rule->id, .text = host, .reason = reason});
}

void RuleShard::report_splice_selected() {
  if (rule->splice_reported.load(std::memory_order_relaxed) || rule->splice_reported.exchange(true)) return;
  worker.context.events.push_advisory({.kind = EngineEvent::Kind::splice_selected, .id = rule->id});
}

void RuleShard::report_splice_unsupported(int error) {
  if (rule->splice_unsupported_reported.exchange(true)) return;
  worker.context.events.push_advisory(
      {.kind = EngineEvent::Kind::splice_unsupported, .id = rule->id, .text = error_name(error)});
}

void RuleShard::end_when_empty() {
  if (!is_closed_ || has_ended_ || !is_empty()) return;
  has_ended_ = true;
  drain_timer_.cancel();
  worker.remove_shard(*this);
}

}  // namespace sluice
