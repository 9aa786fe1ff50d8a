// The native engine built under a judge of the compiler's: AddressSanitizer with UndefinedBehaviorSanitizer, or
// ThreadSanitizer.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'

const root = join(import.meta.dirname, '..', '..')

const kinds = {
  asan: {
    module: 'native/build/Asan/sluice.node',
    preload: ['libasan.so', 'libubsan.so'],
    // An exit code that nothing else ends with: some tests expect a 1.
    env: { ASAN_OPTIONS: 'detect_leaks=0:exitcode=86', UBSAN_OPTIONS: 'print_stacktrace=1:exitcode=86' }
  },
  tsan: {
    module: 'native/build/Tsan/sluice.node',
    preload: ['libtsan.so'],
    env: { TSAN_OPTIONS: 'ignore_noninstrumented_modules=1' }
  }
} as const
export type Judge = keyof typeof kinds

const library = (name: string): string =>
  spawnSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout.trim()

/** Runs to its end, with what it prints; throws where it fails. */
export function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
  const { status, signal } = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit']
  })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status ?? signal}`)
}

/** As `run`, but others go on meanwhile: what it prints comes when it is over. */
export async function runAside(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {}
): Promise<void> {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const [said, complained, [status, signal]] = await Promise.all([
    buffer(child.stdout),
    buffer(child.stderr),
    once(child, 'close')
  ])
  process.stdout.write(said)
  process.stderr.write(complained)
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status ?? signal}`)
}

/** Builds it; gives what Node needs in its environment so that tests load it. */
export function underJudge(judge: Judge): NodeJS.ProcessEnv {
  const { module, preload, env } = kinds[judge]
  run('make', ['-C', 'native', '-s', '-j2', judge])
  return { ...env, SLUICE_TEST_NATIVE: module, LD_PRELOAD: preload.map(library).join(' ') }
}
