// The native engine under its judges: the engine's cases and a soak under AddressSanitizer with UndefinedBehaviorSanitizer,
// and under ThreadSanitizer; then each fuzz target for a while from its kept corpus.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const fuzzSecs = 20
const soakSecs = '30'

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
  const { status } = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit']
  })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`)
}

const library = (name: string): string =>
  spawnSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout.trim()

const kinds = [
  {
    target: 'asan',
    module: 'native/build/Asan/sluice.node',
    preload: ['libasan.so', 'libubsan.so'],
    env: { ASAN_OPTIONS: 'detect_leaks=0', UBSAN_OPTIONS: 'print_stacktrace=1' }
  },
  {
    target: 'tsan',
    module: 'native/build/Tsan/sluice.node',
    preload: ['libtsan.so'],
    env: { TSAN_OPTIONS: 'ignore_noninstrumented_modules=1' }
  }
]
for (const { target, module, preload, env } of kinds) {
  run('make', ['-C', 'native', '-s', '-j2', target])
  for (const test of ['native', 'native-path', 'native-ending', 'native-soak'])
    run(process.execPath, [`test/engine/${test}.test.ts`], {
      ...env,
      SLUICE_TEST_NATIVE: module,
      LD_PRELOAD: preload.map(library).join(' '),
      SLUICE_SOAK_SECS: soakSecs,
      TAP_TIMEOUT: '300'
    })
}

if (spawnSync('clang++', ['--version']).status !== 0)
  process.stdout.write('no clang++ here: nothing is fuzzed\n')
else {
  run('make', ['-C', 'native', '-s', '-j2', 'fuzz'])
  for (const target of ['hello', 'udp', 'wheel'])
    run(`native/build/Fuzz/${target}`, [
      `-max_total_time=${fuzzSecs}`,
      '-verbosity=0',
      `native/build/Fuzz/corpus/${target}`,
      `native/fuzz/corpus/${target}`
    ])
  process.stdout.write('the fuzz targets found nothing\n')
}
