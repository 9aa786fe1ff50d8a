#include "measure.h"

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>

void die(const std::string& why) {
  std::fprintf(stderr, "%s (%s)\n", why.c_str(), std::strerror(errno));
  std::exit(1);
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void pause_for(double secs) {
  timespec time{static_cast<time_t>(secs), static_cast<long>((secs - std::floor(secs)) * 1e9)};
  nanosleep(&time, nullptr);
}

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void for_each_entry(const std::string& folder, const std::function<void(const std::string&)>& visit) {
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir))
    if (entry->d_name[0] != '.') visit(folder + entry->d_name);
  closedir(dir);
}

void for_each_thread(int pid, const std::function<void(const std::string&)>& visit) {
  for_each_entry("/proc/" + std::to_string(pid) + "/task/", visit);
}

/** Sums `measure` over a process and its descendants. */
double sum_over_tree(int pid, const std::function<double(int)>& measure) {
  if (pid == 0) return 0;
  double sum = measure(pid);
  for_each_thread(pid, [&](const std::string& task) {
    std::istringstream children(read_file(task + "/children"));
    for (int child = 0; children >> child;) sum += sum_over_tree(child, measure);
  });
  return sum;
}

double cpu_of_ended_children(int pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 2));
  std::string skipped;
  for (int i = 0; i < 13; i++) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

} // namespace

double cpu_of(int pid) {
  return sum_over_tree(pid, [](int process) {
    double sum = cpu_of_ended_children(process);
    for_each_thread(process, [&](const std::string& task) {
      std::istringstream schedstat(read_file(task + "/schedstat"));
      double ran_ns = 0;
      if (schedstat >> ran_ns) sum += ran_ns * 1e-9;
    });
    return sum;
  });
}

double memory_of(int pid) {
  return sum_over_tree(pid, [](int process) {
    const std::string rollup = read_file("/proc/" + std::to_string(process) + "/smaps_rollup");
    const size_t at = rollup.find("Pss:");
    return at == std::string::npos ? 0 : std::strtod(rollup.c_str() + at + 4, nullptr) * 1024;
  });
}

double descriptors_of(int pid) {
  return sum_over_tree(pid, [](int process) {
    double count = 0;
    for_each_entry("/proc/" + std::to_string(process) + "/fd/", [&](const std::string&) { count++; });
    return count;
  });
}

std::vector<int> threads_of(int pid) {
  std::vector<int> threads;
  sum_over_tree(pid, [&](int process) {
    for_each_thread(process, [&](const std::string& task) { threads.push_back(std::stoi(task.substr(task.rfind('/') + 1))); });
    return 0;
  });
  return threads;
}

void LatencyHistogram::add(double us) {
  const int step = us > 1 ? static_cast<int>(std::log(us) / 0.03) : 0;
  counts_[static_cast<size_t>(step > 1023 ? 1023 : step)]++;
  total_++;
}

double LatencyHistogram::quantile(double share) const {
  const auto wanted = static_cast<uint64_t>(share * static_cast<double>(total_));
  uint64_t count_so_far = 0;
  for (size_t step = 0; step < counts_.size(); step++)
    if ((count_so_far += counts_[step]) > wanted) return std::exp((static_cast<double>(step) + 0.5) * 0.03);
  return 0;
}

void print_result(const Result& result) {
  const char* before = "{";
  for (const auto& [name, value] : result) {
    std::printf("%s\"%s\":%.6g", before, name.c_str(), std::isfinite(value) ? value : 0.0);
    before = ",";
  }
  std::printf("}\n");
  std::fflush(stdout);
}
