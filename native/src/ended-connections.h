// The records of a thread's ended connections and flows, on their way to JavaScript in batches.
#pragma once

#include <vector>

#include "engine-events.h"
#include "event-loop.h"

namespace sluice {

class EndedConnections {
 public:
  EndedConnections(EventLoop& loop, EventQueue& events) : loop_(loop), events_(events) {}

  void add(EndedConnection ended);
  /** Sends the records, or drops and counts them when JavaScript lags. */
  void flush();

 private:
  EventLoop& loop_;
  EventQueue& events_;
  std::vector<EndedConnection> batch_;
  int64_t lost_ = 0;
  MethodTimer<EndedConnections, &EndedConnections::flush> timer_{*this};
};

}  // namespace sluice
