// Timers armed, moved and cancelled in any order, against a plain list of when they are due.
#include "../src/timer-wheel.h"

#include <array>
#include <cstdlib>
#include <cstring>

using sluice::Timer;
using sluice::TimerWheel;

namespace {

constexpr int64_t kNever = -1;

void must(bool is_so) {
  if (!is_so) std::abort();
}

struct Alarm {
  void signal_wakeup() { rang++; }

  int rang = 0;
  int64_t due_ms = kNever;  // by the list
  sluice::MethodTimer<Alarm, &Alarm::signal_wakeup> timer{*this};
};

struct Act {
  uint8_t what;
  uint8_t which;
  uint8_t scale;  // bits of `value` that are left out: near times are as likely as far ones
  uint32_t value;
  static constexpr size_t kBytes = 7;

  explicit Act(const uint8_t* data) : what(data[0]), which(data[1]), scale(data[2] % 32) {
    std::memcpy(&value, data + 3, sizeof value);
  }
  int64_t ms() const { return value >> scale; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  int64_t now_ms = 1'000'000;
  TimerWheel timers(now_ms);
  std::array<Alarm, 16> alarms;
  for (; size >= Act::kBytes; data += Act::kBytes, size -= Act::kBytes) {
    const Act act(data);
    Alarm& alarm = alarms[act.which % alarms.size()];
    if (act.what % 4 == 0) {
      alarm.timer.cancel();
      alarm.due_ms = kNever;
    } else if (act.what % 4 == 1) {
      // What is past is due at the next millisecond.
      const int64_t at_ms = now_ms + act.ms() - 10;
      timers.arm(alarm.timer, at_ms);
      alarm.due_ms = at_ms > now_ms ? at_ms : now_ms + 1;
    } else {
      const int64_t ms_to_next = timers.ms_to_next();
      for (const Alarm& one : alarms)
        must(one.due_ms == kNever || (ms_to_next >= 0 && now_ms + ms_to_next <= one.due_ms));
      now_ms += act.ms() % (1 << 26);
      timers.advance(now_ms);
      for (Alarm& one : alarms) {
        const bool is_due = one.due_ms != kNever && one.due_ms <= now_ms;
        must(one.rang == (is_due ? 1 : 0) && one.timer.is_armed() == (one.due_ms != kNever && !is_due));
        one.rang = 0;
        if (is_due) one.due_ms = kNever;
      }
    }
  }
  return 0;
}
