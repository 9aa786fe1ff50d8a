#include "background.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "measure.h"

SharedCount::SharedCount() {
  void* memory = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  count_ = new (memory) Count(0);
}

SharedCount::~SharedCount() { munmap(count_, sizeof *count_); }

BackgroundProcess::BackgroundProcess(bool is_wanted, const std::function<void()>& run) {
  if (!is_wanted) return;
  child_ = fork();
  if (child_ < 0) die("fork");
  if (child_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL); // the parent may exit with an error
  run();
  _exit(0);
}

BackgroundProcess::~BackgroundProcess() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}
