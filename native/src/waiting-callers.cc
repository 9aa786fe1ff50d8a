#include "waiting-callers.h"

namespace sluice {

std::shared_ptr<WaitingCallers::Place> WaitingCallers::enter(WaitingCaller& caller, EventLoop& loop,
                                                             const Source& network) {
  const auto place = std::make_shared<Place>();
  place->caller = &caller;
  place->loop = &loop;
  std::shared_ptr<Place> surplus;
  {
    const std::lock_guard lock(mutex_);
    add(place, network);
    surplus = take_surplus();
  }
  if (surplus)
    surplus->loop->post([surplus] {
      if (surplus->caller != nullptr) surplus->caller->give_up_place();
    });
  return place;
}

void WaitingCallers::move(const std::shared_ptr<Place>& place, const Source& network) {
  const std::lock_guard lock(mutex_);
  if (!place->is_counted) return;
  remove(*place);
  add(place, network);
}

void WaitingCallers::leave(const std::shared_ptr<Place>& place) {
  place->caller = nullptr;
  const std::lock_guard lock(mutex_);
  if (place->is_counted) remove(*place);
}

void WaitingCallers::add(const std::shared_ptr<Place>& place, const Source& network) {
  const auto found = networks_.find(network);
  place->network = found != networks_.end() ? found->second : by_size_[0].insert(by_size_[0].end(), Network{network, {}});
  if (found == networks_.end()) networks_[network] = place->network;
  Places& places = place->network->places;
  place->at = places.insert(places.end(), place);
  place->is_counted = true;
  count_++;
  resized(place->network, places.size() - 1);
}

void WaitingCallers::remove(Place& place) {
  const std::shared_ptr<Place> self = std::move(*place.at);  // may be the last reference
  const auto network = place.network;
  network->places.erase(place.at);
  place.is_counted = false;
  count_--;
  resized(network, network->places.size() + 1);
}

void WaitingCallers::resized(Networks::iterator network, size_t before) {
  const size_t size = network->places.size();
  if (by_size_.size() <= size) by_size_.resize(size + 1);
  by_size_[size].splice(by_size_[size].end(), by_size_[before], network);
  if (size == 0) {
    networks_.erase(network->source);
    by_size_[0].erase(network);
  }
  while (by_size_.size() > 1 && by_size_.back().empty()) by_size_.pop_back();
}

/** Removes and returns the oldest caller of a network with the most; null below the limit. */
std::shared_ptr<WaitingCallers::Place> WaitingCallers::take_surplus() {
  if (count_ <= kMax) return nullptr;
  std::shared_ptr<Place> oldest = by_size_.back().front().places.front();
  remove(*oldest);
  return oldest;
}

}  // namespace sluice
