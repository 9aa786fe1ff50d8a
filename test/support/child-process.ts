// Starts processes for tests. Each leads a process group, which is killed when this process exits, or earlier.
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'

/** Starts a process like Node's `spawn`. If this process ends first, even by SIGKILL, the child's group is killed. */
export const spawnChild = ((program: string, args: readonly string[], options: object = {}) =>
  guardChild(() => spawn(program, args, { ...options, detached: true }))) as typeof spawn

/** Starts a module like `spawnChild`, with an IPC channel. Its output goes to stderr. */
export const forkChild = (module: string, env: NodeJS.ProcessEnv): ChildProcess =>
  guardChild(() => fork(module, { env, detached: true, execArgv: [], stdio: ['ignore', 2, 2, 'ipc'] }))

/** Kills a process and its own children. Resolves when it has ended. */
export async function killChild(child: ChildProcess): Promise<void> {
  const { pid } = child
  if (pid === undefined) return // it did not start
  const hasEnded = child.exitCode !== null || child.signalCode !== null
  const ended = hasEnded ? null : once(child, 'exit')
  signalGroup(pid, 'SIGKILL')
  await ended
}

/** Sends a signal to a process group, unless it has ended. */
export const signalGroup = (group: number, signal: NodeJS.Signals): void => signalProcess(-group, signal)

/** Sends a signal to a process, unless it has ended. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function guardChild<C extends ChildProcess>(start: () => C): C {
  guard ??= startGuard() // before the child, which is then unguarded only briefly
  const { write } = guard
  const child = start()
  const { pid } = child
  if (pid === undefined) return child // its `error` event follows
  write(`add ${pid}\n`)
  child.once('exit', () => {
    signalGroup(pid, 'SIGKILL') // its own children
    write(`release ${pid}\n`)
  })
  return child
}

/** Kills a process group when this process ends in any way. */
export function guardGroup(group: number): void {
  guard ??= startGuard()
  guard.write(`add ${group}\n`)
}

/** Removes a directory when this process ends in any way, after its children have been killed. */
export function guardDirectory(path: string): void {
  guard ??= startGuard()
  guard.write(`remove ${path}\n`)
}

let guard: Guard | null = null

interface Guard {
  write(line: string): void
}

/** Reads until the pipe closes, which happens when this process ends. */
const guardProgram = `
groups=
while read -r word value; do
  if [ "$word" = remove ]; then set -- "$@" "$value"; continue; fi
  others=
  for each in $groups; do [ "$each" = "$value" ] || others="$others $each"; done
  groups=$others
  [ "$word" = release ] || groups="$groups $value"
done
for group in $groups; do kill -s KILL -- "-$group"; done 2> /dev/null
rm -rf -- "$@"
`

function startGuard(): Guard {
  // It inherits stderr, so that the output of this process closes when the guard has ended.
  const child = spawn('sh', ['-c', guardProgram], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] })
  const stdin = child.stdin as Socket // a pipe to a child is a socket
  stdin.on('error', () => {}) // the guard itself was killed
  child.unref()
  stdin.unref()
  return { write: line => void stdin.write(line) }
}
