// An engine, played with at random for as long as you like; ends with 1 at the first thing that may not be.
//   node test/bench/soak.ts [--minutes 30] [--seed N] [--epoch-secs 15] [--engine native|portable]
// Under AddressSanitizer: make -C native asan, then
//   SLUICE_TEST_NATIVE=native/build/Asan/sluice.node ASAN_OPTIONS=detect_leaks=0 \
//   LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)" node test/bench/soak.ts
import { parseArgs } from 'node:util'
import { openPortableEngine } from '../../agent/portable-engine/index.ts'
import { nativeUnderTest } from '../engine/native-under-test.ts'
import type { OpenEngine } from '../engine/rig.ts'
import { soak } from './soak/soak.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'epoch-secs': { type: 'string', default: '15' },
    engine: { type: 'string', default: 'native' }
  }
})

function chosen(): OpenEngine {
  if (values.engine === 'portable') return openPortableEngine
  const native = nativeUnderTest()
  if (!native.ok) throw new Error(native.reason)
  return native.openEngine
}

console.log(`seed ${values.seed}`)
const { wrong, rssMib, ...figures } = await soak({
  openEngine: chosen(),
  seed: Number(values.seed),
  secs: Number(values.minutes) * 60,
  epochSecs: Number(values['epoch-secs']),
  say: console.log
})
console.log(JSON.stringify(figures), `${Math.min(...rssMib)} to ${Math.max(...rssMib)} MiB`)
for (const what of wrong) console.error(what)
process.exitCode = wrong.length === 0 ? 0 : 1
