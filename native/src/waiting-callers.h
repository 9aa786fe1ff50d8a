// The callers of a port that have no rule yet, on all threads, by network. At the limit, a network with the most of
// them loses its oldest, so that one network cannot keep others out.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "event-loop.h"
#include "source-limits.h"

namespace sluice {

class WaitingCaller {
 public:
  /** Ends the wait: a caller of another network needs the place. Called on the caller's thread. */
  virtual void give_up_place() = 0;

 protected:
  ~WaitingCaller() = default;
};

/** Each operation takes O(1). */
class WaitingCallers {
 public:
  class Place;
  using Places = std::list<std::shared_ptr<Place>>;
  struct Network {
    Source source;
    Places places;  // the oldest first
  };
  using Networks = std::list<Network>;
  class Place {
   public:
    /** Called on the caller's thread. */
    bool has_left() const { return caller == nullptr; }

   private:
    friend class WaitingCallers;
    WaitingCaller* caller;  // used on its own thread only; null: it has left
    EventLoop* loop;        // of that thread
    bool is_counted = false;
    Networks::iterator network;
    Places::iterator at;  // in the network
  };

  /** Adds a caller of this thread; `leave` must be called before its deletion. May make another one give up its place. */
  std::shared_ptr<Place> enter(WaitingCaller& caller, EventLoop& loop, const Source& network);
  /** Counts a caller for the network that its proxy has named. */
  void move(const std::shared_ptr<Place>& place, const Source& network);
  void leave(const std::shared_ptr<Place>& place);

 private:
  static constexpr size_t kMax = 1024;

  void add(const std::shared_ptr<Place>& place, const Source& network);
  void remove(Place& place);
  void resized(Networks::iterator network, size_t before);
  std::shared_ptr<Place> take_surplus();

  std::mutex mutex_;
  size_t count_ = 0;
  std::vector<Networks> by_size_ = std::vector<Networks>(1);  // by their number of callers; resized first in front
  std::unordered_map<Source, Networks::iterator, Source::Hash> networks_;
};

}  // namespace sluice
