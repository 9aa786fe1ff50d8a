// Builds of the native engine with a sanitizer: AddressSanitizer with UndefinedBehaviorSanitizer, or ThreadSanitizer.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'

const root = join(import.meta.dirname, '..', '..')

const builds = {
  asan: {
    module: 'native/build/Asan/sluice.node',
    preload: ['libasan.so', 'libubsan.so'],
    // No other failure uses this exit code: some tests expect 1.
    env: { ASAN_OPTIONS: 'detect_leaks=0:exitcode=86', UBSAN_OPTIONS: 'print_stacktrace=1:exitcode=86' }
  },
  tsan: {
    module: 'native/build/Tsan/sluice.node',
    preload: ['libtsan.so'],
    env: { TSAN_OPTIONS: 'ignore_noninstrumented_modules=1' }
  }
} as const
export type Sanitizer = keyof typeof builds

const libraryPath = (name: string): string =>
  spawnSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout.trim()

/** Runs a command and shows its output; throws if it fails. */
export function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
  const { status, signal } = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit']
  })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status ?? signal}`)
}

/** ThreadSanitizer prints this when it cannot map memory, which is rare. Its run then proves nothing. */
const unjudged = 'ThreadSanitizer failed to allocate'

/** Runs a command like `run`, but asynchronously; shows its output when it has ended. */
export async function runAsync(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  isRepeat = false
): Promise<void> {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const [output, errors, [status, signal]] = await Promise.all([
    buffer(child.stdout),
    buffer(child.stderr),
    once(child, 'close')
  ])
  process.stdout.write(output)
  process.stderr.write(errors)
  if (status === 0) return
  if (isRepeat || !errors.includes(unjudged))
    throw new Error(`${command} ${args.join(' ')} ended with ${status ?? signal}`)
  process.stderr.write('It is run once more.\n')
  await runAsync(command, args, env, true)
}

/** Builds the engine. Returns the environment that makes tests load this build. */
export function buildWith(sanitizer: Sanitizer): NodeJS.ProcessEnv {
  const { module, preload, env } = builds[sanitizer]
  run('make', ['-C', 'native', '-s', '-j2', sanitizer])
  return { ...env, SLUICE_TEST_NATIVE: module, LD_PRELOAD: preload.map(libraryPath).join(' ') }
}
