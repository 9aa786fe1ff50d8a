// Fuzzes TimerWheel: timers armed, moved and cancelled in any order, against a plain list of their times.
#include "../src/timer-wheel.h"

#include <array>
#include <cstring>

#include "input.h"

using sluice::Timer;
using sluice::TimerWheel;
using sluice::fake::must;

namespace {

constexpr int64_t kNever = -1;

struct TestTimer {
  void on_fire() { fired_count++; }

  int fired_count = 0;
  int64_t due_ms = kNever;  // according to the list
  sluice::MethodTimer<TestTimer, &TestTimer::on_fire> timer{*this};
};

struct Action {
  uint8_t kind;
  uint8_t index;
  uint8_t scale;  // right shift of `value`, so that near times are as likely as far ones
  uint32_t value;
  static constexpr size_t kBytes = 7;

  explicit Action(const uint8_t* data) : kind(data[0]), index(data[1]), scale(data[2] % 32) {
    std::memcpy(&value, data + 3, sizeof value);
  }
  int64_t ms() const { return value >> scale; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  int64_t now_ms = 1'000'000;
  TimerWheel wheel(now_ms);
  std::array<TestTimer, 16> timers;
  for (; size >= Action::kBytes; data += Action::kBytes, size -= Action::kBytes) {
    const Action action(data);
    TestTimer& timer = timers[action.index % timers.size()];
    if (action.kind % 4 == 0) {
      timer.timer.cancel();
      timer.due_ms = kNever;
    } else if (action.kind % 4 == 1) {
      // A time in the past is due in the next millisecond.
      const int64_t at_ms = now_ms + action.ms() - 10;
      wheel.arm(timer.timer, at_ms);
      timer.due_ms = at_ms > now_ms ? at_ms : now_ms + 1;
    } else {
      const int64_t ms_to_next = wheel.ms_to_next();
      for (const TestTimer& each : timers)
        must(each.due_ms == kNever || (ms_to_next >= 0 && now_ms + ms_to_next <= each.due_ms),
             "no timer is due earlier");
      now_ms += action.ms() % (1 << 26);
      wheel.advance(now_ms);
      for (TestTimer& each : timers) {
        const bool is_due = each.due_ms != kNever && each.due_ms <= now_ms;
        must(each.fired_count == (is_due ? 1 : 0), "a timer fires once, when it is due");
        must(each.timer.is_armed() == (each.due_ms != kNever && !is_due), "a timer is armed until it fires");
        each.fired_count = 0;
        if (is_due) each.due_ms = kNever;
      }
    }
  }
  return 0;
}
