// One thread of the engine: its loop, and its part of every rule. All of it runs on that thread, `loop.post`
// apart.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "loop.h"
#include "pipes.h"
#include "rule.h"
#include "shared.h"
#include "udp-batch.h"

namespace sluice {

class Gate;
class Place;

/** A socket that listens; of a wide range it is shared by the threads. */
struct Bound {
  std::shared_ptr<Fd> socket;
  Address place;
  bool is_shared = false;
};

/** What 'resolve' was answered with. */
struct Answer {
  bool is_ok = false;
  std::vector<Address> addresses;
  std::string reason;
};

class Asker {
 public:
  virtual void answered(const Answer& answer) = 0;

 protected:
  ~Asker() = default;
};

class Worker {
 public:
  Worker(Shared& shared, size_t index, size_t count);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  void open(std::shared_ptr<Rule> rule, std::vector<Bound> sockets,
            std::shared_ptr<std::atomic<int>> peeking);
  void close(int rule_id, int64_t drain_ms);
  void filters_changed(int rule_id);
  void meter_changed(Meter& meter);
  /** Is it still spent as it was in `epoch` after `hold_ms`? Then who is in it is cut. */
  void hold(std::shared_ptr<Meter> meter, uint64_t epoch, int64_t hold_ms);
  void answer(int64_t token, const Answer& answer);
  void stop();

  /** Asks JavaScript; `forget` when the answer is of no use any more. */
  int64_t ask(Asker& asker, int rule_id, const std::string& host);
  void forget(int64_t token) { askers_.erase(token); }
  /** What is done for a rule once, not by every thread, is this one's to do. */
  bool has_duty(int rule_id) const { return static_cast<size_t>(rule_id) % count_ == index; }
  /** A gate that is shut and empty takes leave. */
  void ended(Gate& gate);

  Shared& shared;
  const size_t index;
  Loop loop;
  Pipes pipes;
  std::array<char, 16 * 1024> buffer;
  UdpBatch udp_batch;

 private:
  class Hold;

  void leave_port(Gate& gate);

  const size_t count_;
  int64_t asked_ = 0;
  std::unordered_map<int, std::unique_ptr<Gate>> gates_;         // by rule
  std::unordered_map<uint16_t, std::unique_ptr<Place>> places_;  // TCP, by first port
  std::unordered_map<int64_t, Asker*> askers_;                   // by token
  std::unordered_map<int, std::unique_ptr<Hold>> holds_;         // by meter
};

}  // namespace sluice
