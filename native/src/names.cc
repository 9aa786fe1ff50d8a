#include "names.h"

namespace sluice {

std::shared_ptr<const ResolveAnswer> Names::find(int rule_id, const std::string& host) {
  KnownHosts& hosts = known_[rule_id];
  const auto found = hosts.find(host);
  if (found == hosts.end() || loop_.now_ms() >= found->second.usable_until_ms) return nullptr;
  Known& known = found->second;
  if (loop_.now_ms() >= known.fresh_until_ms && !known.is_asked_again) {
    known.is_asked_again = true;
    ask(nullptr, rule_id, host);
  }
  return known.answer;
}

int64_t Names::ask(ResolveRequester* requester, int rule_id, const std::string& host) {
  last_token_ += step_;
  asked_[last_token_] = {rule_id, host, requester};
  events_.push({.kind = EngineEvent::Kind::resolve, .id = rule_id, .value = last_token_, .text = host});
  return last_token_;
}

void Names::answered(int64_t token, ResolveAnswer answer) {
  const auto found = asked_.find(token);
  if (found == asked_.end()) return;
  const Question question = std::move(found->second);
  asked_.erase(found);
  const auto shared = std::make_shared<const ResolveAnswer>(std::move(answer));
  keep(question, shared);
  if (question.requester != nullptr) question.requester->on_resolved(*shared);
}

/** Stores nothing for a rule that has ended. */
void Names::keep(const Question& question, const std::shared_ptr<const ResolveAnswer>& answer) {
  const auto hosts = known_.find(question.rule_id);
  if (hosts == known_.end()) return;
  const int64_t now_ms = loop_.now_ms();
  if (answer->usable_ms <= 0)
    hosts->second.erase(question.host);
  else
    hosts->second[question.host] = {answer, now_ms + answer->fresh_ms, now_ms + answer->usable_ms, false};
}

}  // namespace sluice
