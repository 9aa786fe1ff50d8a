#include "names.h"

namespace sluice {

namespace {
constexpr size_t kMaxNames = 4096;
}  // namespace

std::shared_ptr<const ResolveAnswer> Names::find(int rule_id, const std::string& host) {
  const auto found = known_.find(host);
  if (found == known_.end() || loop_.now_ms() >= found->second.usable_until_ms) return nullptr;
  Known& known = found->second;
  if (loop_.now_ms() >= known.fresh_until_ms && !known.is_asked_again) {
    known.is_asked_again = true;
    ask(nullptr, rule_id, host);
  }
  return known.answer;
}

int64_t Names::ask(ResolveRequester* requester, int rule_id, const std::string& host) {
  last_token_ += step_;
  asked_[last_token_] = {host, requester};
  events_.push({.kind = EngineEvent::Kind::resolve, .id = rule_id, .value = last_token_, .text = host});
  return last_token_;
}

void Names::answered(int64_t token, ResolveAnswer answer) {
  const auto found = asked_.find(token);
  if (found == asked_.end()) return;
  const Question question = std::move(found->second);
  asked_.erase(found);
  const auto shared = std::make_shared<const ResolveAnswer>(std::move(answer));
  keep(question.host, shared);
  if (question.requester != nullptr) question.requester->on_resolved(*shared);
}

void Names::keep(const std::string& host, const std::shared_ptr<const ResolveAnswer>& answer) {
  const int64_t now_ms = loop_.now_ms();
  known_.erase(host);
  if (answer->usable_ms <= 0) return;
  if (known_.size() >= kMaxNames)
    std::erase_if(known_, [&](const auto& one) { return now_ms >= one.second.usable_until_ms; });
  if (known_.size() < kMaxNames)
    known_[host] = {answer, now_ms + answer->fresh_ms, now_ms + answer->usable_ms, false};
}

}  // namespace sluice
