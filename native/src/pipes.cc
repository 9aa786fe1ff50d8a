#include "pipes.h"

#include <string.h>

namespace sluice {

namespace {
constexpr int kBytes = 1 << 20;
constexpr int kLeastBytes = 1 << 18;
constexpr size_t kMostSpare = 64;
constexpr int kDescriptors = 2;
}  // namespace

Pipes::~Pipes() { shared_.descriptors.give(static_cast<int64_t>(spare_.size()) * kDescriptors); }

bool Pipes::take(sys::Pipe& pipe) {
  if (!spare_.empty()) {
    pipe = std::move(spare_.back());
    spare_.pop_back();
    return true;
  }
  if (!shared_.descriptors.take(kDescriptors)) return false;
  if (sys::open_pipe(pipe) < 0) {
    shared_.descriptors.give(kDescriptors);
    return false;
  }
  enlarge(pipe);
  return true;
}

/** Unprivileged users share a limit of pipe pages: a smaller pipe is better than none. */
void Pipes::enlarge(const sys::Pipe& pipe) {
  int error = 0;
  for (int bytes = kBytes; bytes >= kLeastBytes; bytes /= 2) {
    const int code = sys::resize_pipe(pipe, bytes);
    if (code >= 0) break;
    if (error == 0) error = -code;
  }
  if (error == 0 || was_told_) return;
  was_told_ = true;
  Event event{Event::Kind::pipe_size};
  event.number = kBytes;
  event.other = sys::pipe_size(pipe);
  event.words = strerrorname_np(error);
  shared_.events.may_tell(std::move(event));
}

void Pipes::give_empty(sys::Pipe pipe) {
  if (spare_.size() >= kMostSpare)
    drop(std::move(pipe));
  else
    spare_.push_back(std::move(pipe));
}

void Pipes::drop(sys::Pipe pipe) {
  pipe = {};
  shared_.descriptors.give(kDescriptors);
}

}  // namespace sluice
