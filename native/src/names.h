// Caches JavaScript's answers for names of targets, by rule: as many as its targets. Each thread has its own cache.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine-events.h"
#include "event-loop.h"

namespace sluice {

/** JavaScript's answer to a 'resolve' event. */
struct ResolveAnswer {
  bool is_ok = false;
  std::vector<Address> addresses;
  std::string reason;    // of a failure
  int64_t fresh_ms = 0;   // no new lookup is needed for this long
  int64_t usable_ms = 0;  // no caller has to wait for this long
};

class ResolveRequester {
 public:
  virtual void on_resolved(const ResolveAnswer& answer) = 0;

 protected:
  ~ResolveRequester() = default;
};

class Names {
 public:
  /** `index` of `count` threads makes tokens unique across threads. */
  Names(const EventLoop& loop, EventQueue& events, size_t index, size_t count)
      : loop_(loop), events_(events), last_token_(static_cast<int64_t>(index)), step_(static_cast<int64_t>(count)) {}

  /** Returns the cached answer, or null if JavaScript must be asked. */
  std::shared_ptr<const ResolveAnswer> find(int rule_id, const std::string& host);
  /** Asks JavaScript. Returns a token for `cancel`. */
  int64_t ask(ResolveRequester& requester, int rule_id, const std::string& host) {
    return ask(&requester, rule_id, host);
  }
  void cancel(int64_t token) { asked_.erase(token); }
  void answered(int64_t token, ResolveAnswer answer);
  /** Drops the answers for a rule that has ended. */
  void forget(int rule_id) { known_.erase(rule_id); }

 private:
  struct Question {
    int rule_id;
    std::string host;
    ResolveRequester* requester;  // null: a refresh in the background
  };
  struct Known {
    std::shared_ptr<const ResolveAnswer> answer;
    int64_t fresh_until_ms;
    int64_t usable_until_ms;
    bool is_asked_again;
  };

  int64_t ask(ResolveRequester* requester, int rule_id, const std::string& host);
  void keep(const Question& question, const std::shared_ptr<const ResolveAnswer>& answer);

  const EventLoop& loop_;
  EventQueue& events_;
  int64_t last_token_;
  const int64_t step_;
  std::unordered_map<int64_t, Question> asked_;  // by token
  using KnownHosts = std::unordered_map<std::string, Known>;
  std::unordered_map<int, KnownHosts> known_;  // by rule
};

}  // namespace sluice
