import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { loadModule } from '../../../native/load.ts'
import { openJudge, type Usage } from '../idle-memory.ts'

const mib = 2 ** 20
const secs = 1000
const at = (atSecs: number, cpuSecs: number, mibHeld: number, resources = 0): Usage => ({
  atMs: atSecs * secs,
  cpuMs: cpuSecs * secs,
  heldBytes: mibHeld * mib,
  resources
})

t.test('the first idle span after the start is due, and no other until a load', async t => {
  const judge = openJudge(at(0, 0, 40))

  t.notOk(judge.isDue(at(15, 1, 100)), 'it starts')
  t.ok(judge.isDue(at(30, 1.1, 100)))
  judge.given(at(30.1, 1.2, 40))
  t.notOk(judge.isDue(at(45, 1.3, 60)), 'it has grown without a load')
})

t.test('an idle span after a load is due if the process has grown', async t => {
  const judge = openJudge(at(0, 0, 40))
  judge.isDue(at(15, 0, 100))
  judge.given(at(15, 0, 40))

  t.notOk(judge.isDue(at(30, 15, 90)), 'loaded')
  t.ok(judge.isDue(at(45, 15, 90)))
  judge.given(at(45, 15, 50))
  t.notOk(judge.isDue(at(60, 30, 57)), 'loaded')
  t.notOk(judge.isDue(at(75, 30, 57)), 'it has hardly grown')
  t.ok(judge.isDue(at(90, 30, 58)), 'the load has not been forgotten')
})

t.test(
  'an idle span after connections have gone is due, though the process holds no more than with them',
  async t => {
    const judge = openJudge(at(0, 0, 40))
    judge.isDue(at(15, 0, 700, 10_000))
    judge.given(at(15, 0, 700, 10_000))

    t.notOk(judge.isDue(at(30, 1, 700, 0)), 'they go')
    t.ok(judge.isDue(at(45, 1, 700, 0)))
    judge.given(at(45, 1, 170, 0))
    t.notOk(judge.isDue(at(60, 2, 170, 50)), 'loaded')
    t.notOk(judge.isDue(at(75, 2, 170, 0)), 'few have gone')
  }
)

t.test(
  'pages of program files return to the system, and the process keeps working',
  { skip: !loadModule().ok && 'there is no native addon here' },
  async t => {
    const program = join(import.meta.dirname, 'file-pages.ts')
    const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' })

    t.match(stdout, /^\{/, stderr)
    const { before, after, ...works } = JSON.parse(stdout)
    t.ok(after < before / 2, `${before} KiB, then ${after} KiB`)
    t.same(works, { sum: 42, parsed: [1] })
  }
)
