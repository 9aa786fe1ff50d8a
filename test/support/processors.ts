// Shares the processors among the processes of a test as if they ran on separate machines. Linux only.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

const niceness = 10
const allowed = allowedProcessors() // before the first separation
const group = '/proc/self/autogroup' // sched(7): sessions share the processors, and only then the processes of each

/** Gives the server half of the processors, and this process and its later children the others. One cannot be shared. */
export function separateFrom(serverPid: number): void {
  const half = Math.floor(allowed.length / 2)
  if (half === 0) return
  pin(serverPid, allowed.slice(0, half))
  pin(process.pid, allowed.slice(half))
}

/** Lets other processes run first. */
export function yieldProcessors(): void {
  setPriority(niceness)
  if (existsSync(group)) writeFileSync(group, String(niceness))
}

/** See `Cpus_allowed_list` in proc_pid_status(5): '0-3,6'. */
function allowedProcessors(): number[] {
  const [, list = ''] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return list.split(',').flatMap(range => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })
}

/** Moves all threads of a process. */
const pin = (pid: number, processors: readonly number[]): void =>
  void execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', processors.join(), String(pid)])
