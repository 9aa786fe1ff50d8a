#include "beside.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "measure.h"

SharedCount::SharedCount() {
  void* place = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) die("mmap");
  count_ = new (place) Count(0);
}

SharedCount::~SharedCount() { munmap(count_, sizeof *count_); }

Beside::Beside(bool is_wanted, const std::function<void()>& act) {
  if (!is_wanted) return;
  child_ = fork();
  if (child_ < 0) die("fork");
  if (child_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL); // this may end by an error
  act();
  _exit(0);
}

Beside::~Beside() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}
