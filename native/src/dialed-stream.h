// The connection to a dialer in JavaScript: a pair of Unix sockets. The engine has one end, JavaScript the other.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "descriptors.h"
#include "sys.h"

namespace sluice {

/** Unix sockets do not carry a reset. The side that resets sets its flag before it closes, so the other one finds it. */
struct DialedStream {
  explicit DialedStream(int64_t token) : token(token) {}

  const int64_t token;  // of the dial
  std::atomic<bool> is_reset_by_engine{false};
  std::atomic<bool> is_reset_by_dialer{false};
};

/** JavaScript's end, which has a descriptor of the rule's owner until it is destroyed. */
class DialerEnd {
 public:
  /** `share` has reserved the descriptor. */
  DialerEnd(std::shared_ptr<DialedStream> stream, Fd socket, std::shared_ptr<DescriptorShare> share)
      : stream(std::move(stream)), socket(std::move(socket)), share_(std::move(share)) {}
  DialerEnd(const DialerEnd&) = delete;
  DialerEnd& operator=(const DialerEnd&) = delete;
  ~DialerEnd() { share_->release(1); }

  const std::shared_ptr<DialedStream> stream;
  Fd socket;  // until JavaScript has taken it

 private:
  const std::shared_ptr<DescriptorShare> share_;
};

}  // namespace sluice
