// The native engine under its judges: the engine's cases and a soak of a minute under AddressSanitizer with
// UndefinedBehaviorSanitizer, and under ThreadSanitizer; then each fuzz target for a while from its kept corpus.
import { spawnSync } from 'node:child_process'
import { run, underJudge } from './judges.ts'

const fuzzSecs = 20

for (const judge of ['asan', 'tsan'] as const) {
  const env = underJudge(judge)
  for (const test of ['native', 'native-path', 'native-ending'])
    run(process.execPath, [`test/engine/${test}.test.ts`], { ...env, TAP_TIMEOUT: '300' })
  run(process.execPath, ['test/bench/soak.ts', '--minutes', '1', `--${judge}`])
}

if (spawnSync('clang++', ['--version']).status !== 0)
  process.stdout.write('no clang++ here: nothing is fuzzed\n')
else {
  run('make', ['-C', 'native', '-s', '-j2', 'fuzz'])
  for (const target of ['hello', 'udp', 'wheel', 'quantum', 'commands'])
    run(`native/build/Fuzz/${target}`, [
      `-max_total_time=${fuzzSecs}`,
      '-verbosity=0',
      `native/build/Fuzz/corpus/${target}`,
      `native/fuzz/corpus/${target}`
    ])
  process.stdout.write('the fuzz targets found nothing\n')
}
