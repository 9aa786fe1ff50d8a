import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { loadModule } from '../../../native/load.ts'
import { openIdleDetector, type Usage } from '../idle-memory.ts'

const mib = 2 ** 20
const secs = 1000
const at = (atSecs: number, cpuSecs: number, mibHeld: number, resources = 0): Usage => ({
  atMs: atSecs * secs,
  cpuMs: cpuSecs * secs,
  heldBytes: mibHeld * mib,
  resources
})

t.test(
  'memory is released in the first idle interval after the start, and not again before a load',
  async t => {
    const detector = openIdleDetector(at(0, 0, 40))

    t.notOk(detector.isDue(at(15, 1, 100)), 'it starts')
    t.ok(detector.isDue(at(30, 1.1, 100)))
    detector.released(at(30.1, 1.2, 40))
    t.notOk(detector.isDue(at(45, 1.3, 60)), 'the process grew without a load')
  }
)

t.test('memory is released after a load if the process has grown', async t => {
  const detector = openIdleDetector(at(0, 0, 40))
  detector.isDue(at(15, 0, 100))
  detector.released(at(15, 0, 40))

  t.notOk(detector.isDue(at(30, 15, 90)), 'loaded')
  t.ok(detector.isDue(at(45, 15, 90)))
  detector.released(at(45, 15, 50))
  t.notOk(detector.isDue(at(60, 30, 57)), 'loaded')
  t.notOk(detector.isDue(at(75, 30, 57)), 'the process has hardly grown')
  t.ok(detector.isDue(at(90, 30, 58)), 'the detector remembers the load')
})

t.test('memory is released after connections have closed, even if the process has not grown', async t => {
  const detector = openIdleDetector(at(0, 0, 40))
  detector.isDue(at(15, 0, 700, 10_000))
  detector.released(at(15, 0, 700, 10_000))

  t.notOk(detector.isDue(at(30, 1, 700, 0)), 'they go')
  t.ok(detector.isDue(at(45, 1, 700, 0)))
  detector.released(at(45, 1, 170, 0))
  t.notOk(detector.isDue(at(60, 2, 170, 50)), 'loaded')
  t.notOk(detector.isDue(at(75, 2, 170, 0)), 'only few have closed')
})

t.test(
  'pages of program files return to the system, and the process keeps working',
  { skip: !loadModule().ok && 'the native addon is not available' },
  async t => {
    const program = join(import.meta.dirname, 'file-pages.ts')
    const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' })

    t.match(stdout, /^\{/, stderr)
    const { before, after, ...works } = JSON.parse(stdout)
    t.ok(after < before / 2, `${before} KiB, then ${after} KiB`)
    t.same(works, { sum: 42, parsed: [1] })
  }
)
