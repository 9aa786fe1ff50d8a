#include "pipe-pool.h"

#include "error-name.h"

namespace sluice {

namespace {
constexpr int kWantedPipeBytes = 1 << 20;
/** Copying costs less than splicing through smaller pipes. */
constexpr int kMinPipeBytes = 1 << 16;
constexpr size_t kMaxSparePipes = 8;
constexpr int64_t kRefusedPipeMs = 1'000;
constexpr int64_t kPipeReportMs = 60'000;
}  // namespace

PipePool::~PipePool() { context_.descriptors.release(static_cast<int64_t>(spare_.size()) * kDescriptorsPerPipe); }

bool PipePool::acquire(sys::Pipe& pipe) {
  if (spare_.empty() && !open_spare()) return false;
  pipe = std::move(spare_.back());
  spare_.pop_back();
  if (pipe.bytes < kWantedPipeBytes && loop_.now_ms() >= enlarge_again_ms_) enlarge(pipe);
  return true;
}

bool PipePool::open_spare() {
  if (is_scarce()) return false;
  sys::Pipe pipe;
  if (context_.descriptors.reserve(kDescriptorsPerPipe)) {
    if (const int error = sys::open_pipe(pipe); error < 0)
      report_size(0, -error);
    else
      enlarge(pipe);
    if (pipe.bytes >= kMinPipeBytes) {
      spare_.push_back(std::move(pipe));
      return true;
    }
    context_.descriptors.release(kDescriptorsPerPipe);
  }
  open_again_ms_ = loop_.now_ms() + kRefusedPipeMs;
  return false;
}

/** Enlarges a pipe as far as the limits of the system allow. */
void PipePool::enlarge(sys::Pipe& pipe) {
  int error = 0;
  for (int bytes = kWantedPipeBytes; bytes > pipe.bytes; bytes /= 2) {
    const int code = sys::resize_pipe(pipe, bytes);
    if (code >= 0)
      pipe.bytes = code;
    else if (error == 0)
      error = -code;
  }
  if (error == 0) return;
  enlarge_again_ms_ = loop_.now_ms() + kRefusedPipeMs;
  report_size(pipe.bytes, error);
}

void PipePool::report_size(int actual_bytes, int error) {
  if (loop_.now_ms() < report_again_ms_) return;
  report_again_ms_ = loop_.now_ms() + kPipeReportMs;
  const int max_bytes = sys::max_pipe_bytes();
  const bool is_size = max_bytes > 0 && max_bytes < kWantedPipeBytes;
  context_.events.push_advisory({.kind = EngineEvent::Kind::pipe_size,
                                 .value = kWantedPipeBytes,
                                 .other_value = actual_bytes,
                                 .text = error_name(error),
                                 .reason = is_size ? "fs.pipe-max-size" : "fs.pipe-user-pages-soft"});
}

void PipePool::put_back(sys::Pipe pipe) {
  if (spare_.size() >= kMaxSparePipes)
    discard(std::move(pipe));
  else
    spare_.push_back(std::move(pipe));
}

void PipePool::discard(sys::Pipe pipe) {
  pipe = {};
  context_.descriptors.release(kDescriptorsPerPipe);
}

}  // namespace sluice
