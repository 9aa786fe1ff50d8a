// The dials of targets with a dialer: each is a 'dial' event, until JavaScript answers.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "dialed-stream.h"
#include "engine-events.h"

namespace sluice {

/** JavaScript's answer to a 'dial' event. */
struct DialAnswer {
  bool is_ok = false;
  Address address{};             // of the target
  std::string failure{};         // the reason of a failed dial
  Reason refusal = kNoReason;    // or that of a refusal
};

class DialRequester {
 public:
  /** Returns JavaScript's end of the connection; null: it needs none. */
  virtual std::shared_ptr<DialerEnd> on_dialed(int64_t token, const DialAnswer& answer) = 0;

 protected:
  ~DialRequester() = default;
};

struct DialQuestion {
  int rule_id;
  int target;
  int offset;          // in the range of ports
  std::string caller;  // as `write_dial_caller` returns it; empty: a probe
};

/** Returns lines that native/index.ts reads. */
inline std::string write_dial_caller(const Address& source, const Address& listen, const std::string& server_name) {
  std::string text;
  for (const Address& address : {source, listen}) text += address.text() + '\n' + std::to_string(address.port) + '\n';
  return text + server_name;
}

class TargetDials {
 public:
  /** `index` of `count` threads makes tokens unique across threads. */
  TargetDials(EventQueue& events, size_t index, size_t count)
      : events_(events), last_token_(static_cast<int64_t>(index)), step_(static_cast<int64_t>(count)) {}

  /** Asks JavaScript. Returns a token for `cancel`. */
  int64_t ask(DialRequester& requester, DialQuestion question) {
    last_token_ += step_;
    asked_[last_token_] = &requester;
    events_.push({.kind = EngineEvent::Kind::dial,
                  .id = question.rule_id,
                  .target = question.target,
                  .value = last_token_,
                  .other_value = question.offset,
                  .text = std::move(question.caller)});
    return last_token_;
  }
  void cancel(int64_t token) {
    if (asked_.erase(token) > 0) events_.push({.kind = EngineEvent::Kind::dial_canceled, .value = token});
  }
  /** Reports one `dialed` event for each answer. */
  void answered(int64_t token, const DialAnswer& answer) {
    const auto asked = asked_.extract(token);
    std::shared_ptr<DialerEnd> end;
    if (!asked.empty()) end = asked.mapped()->on_dialed(token, answer);
    events_.push({.kind = EngineEvent::Kind::dialed, .value = token, .dialer_end = std::move(end)});
  }

 private:
  EventQueue& events_;
  int64_t last_token_;
  const int64_t step_;
  std::unordered_map<int64_t, DialRequester*> asked_;  // by token
};

}  // namespace sluice
