#include "pipe-pool.h"

#include "error-name.h"

namespace sluice {

namespace {
constexpr int kWantedBytes = 1 << 20;
constexpr int kMinBytes = 1 << 18;
constexpr size_t kMaxSpare = 64;
constexpr int kDescriptors = 2;
}  // namespace

PipePool::~PipePool() { context_.descriptors.release(static_cast<int64_t>(spare_.size()) * kDescriptors); }

bool PipePool::acquire(sys::Pipe& pipe) {
  if (!spare_.empty()) {
    pipe = std::move(spare_.back());
    spare_.pop_back();
    return true;
  }
  if (!context_.descriptors.reserve(kDescriptors)) return false;
  if (sys::open_pipe(pipe) < 0) {
    context_.descriptors.release(kDescriptors);
    return false;
  }
  enlarge(pipe);
  return true;
}

/** Enlarges a pipe as far as the user's limit of pipe pages allows (pipe(7), pipe-user-pages-soft). */
void PipePool::enlarge(const sys::Pipe& pipe) {
  int error = 0;
  for (int bytes = kWantedBytes; bytes >= kMinBytes; bytes /= 2) {
    const int code = sys::resize_pipe(pipe, bytes);
    if (code >= 0) break;
    if (error == 0) error = -code;
  }
  if (error == 0 || is_size_reported_) return;
  is_size_reported_ = true;
  context_.events.push_advisory({.kind = EngineEvent::Kind::pipe_size,
                                 .value = kWantedBytes,
                                 .other_value = sys::pipe_size(pipe),
                                 .text = error_name(error)});
}

void PipePool::put_back(sys::Pipe pipe) {
  if (spare_.size() >= kMaxSpare)
    discard(std::move(pipe));
  else
    spare_.push_back(std::move(pipe));
}

void PipePool::discard(sys::Pipe pipe) {
  pipe = {};
  context_.descriptors.release(kDescriptors);
}

}  // namespace sluice
