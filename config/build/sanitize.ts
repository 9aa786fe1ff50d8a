// The native engine under its judges: the engine's cases and a soak of a minute under AddressSanitizer with
// UndefinedBehaviorSanitizer, and under ThreadSanitizer; then each fuzz target for a while from its kept corpus.
// Two at a time: they wait, or have one busy thread.
import { spawnSync } from 'node:child_process'
import { run, runAside, underJudge } from './judges.ts'

const fuzzSecs = 20

const judges = (['asan', 'tsan'] as const).map(judge => ({ judge, env: underJudge(judge) }))
for (const test of ['native', 'native-splice', 'native-exit'])
  await Promise.all(
    judges.map(({ env }) =>
      runAside(process.execPath, [`test/engine/${test}.test.ts`], { ...env, TAP_TIMEOUT: '300' })
    )
  )
await Promise.all(
  judges.map(({ judge }) =>
    runAside(process.execPath, ['test/bench/soak.ts', '--minutes', '1', `--${judge}`])
  )
)

const fuzz = (target: string) =>
  runAside(`native/build/Fuzz/${target}`, [
    `-max_total_time=${fuzzSecs}`,
    '-verbosity=0',
    `native/build/Fuzz/corpus/${target}`,
    `native/fuzz/corpus/${target}`
  ])

if (spawnSync('clang++', ['--version']).status !== 0)
  process.stdout.write('clang++ is not installed: nothing is fuzzed\n')
else {
  run('make', ['-C', 'native', '-s', '-j2', 'fuzz'])
  await Promise.all([fuzz('client-hello'), fuzz('udp')])
  await Promise.all([fuzz('timer-wheel'), fuzz('bulk-scheduler')])
  await fuzz('commands')
  process.stdout.write('the fuzz targets found nothing\n')
}
