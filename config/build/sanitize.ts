// Runs the native engine with sanitizers: its test cases and a soak of one minute, with AddressSanitizer and
// UndefinedBehaviorSanitizer, and with ThreadSanitizer. Then runs each fuzz target from its corpus.
// Runs two at a time: each uses at most one core.
import { spawnSync } from 'node:child_process'
import { buildWith, run, runAsync } from './sanitizers.ts'

const fuzzSecs = 10

const sanitizers = (['asan', 'tsan'] as const).map(name => ({ name, env: buildWith(name) }))
for (const test of ['native.test', 'native-splice.test', 'native-exit.test', 'native-fork.long'])
  await Promise.all(
    sanitizers.map(({ env }) =>
      runAsync(process.execPath, [`test/engine/${test}.ts`], { ...env, TAP_TIMEOUT: '300' })
    )
  )
await Promise.all(
  sanitizers.map(({ name }) =>
    runAsync(process.execPath, ['test/bench/soak.ts', '--only', 'engine', '--minutes', '1', `--${name}`])
  )
)

const fuzz = (target: string) =>
  runAsync(`native/build/Fuzz/${target}`, [
    `-max_total_time=${fuzzSecs}`,
    '-verbosity=0',
    `native/build/Fuzz/corpus/${target}`,
    `native/fuzz/corpus/${target}`
  ])

if (spawnSync('clang++', ['--version']).status !== 0)
  process.stdout.write('clang++ is not installed: the fuzz targets are skipped\n')
else {
  run('make', ['-C', 'native', '-s', '-j2', 'fuzz'])
  await Promise.all([fuzz('client-hello'), fuzz('udp')])
  await Promise.all([fuzz('timer-wheel'), fuzz('bulk-scheduler')])
  await Promise.all([fuzz('commands'), fuzz('proxy-header')])
  process.stdout.write('the fuzz targets found nothing\n')
}
