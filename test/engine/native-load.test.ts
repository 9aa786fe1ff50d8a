import { join } from 'node:path'
import t from 'tap'
import type { NativeModule } from '../../native/bridge.ts'
import { choose, type Machine, thisMachine } from '../../native/load.ts'

// A fake module, identified by its file.
const moduleOf = (file: string) => ({ NativeEngine: file }) as unknown as NativeModule
const load = (broken: readonly string[]) => (file: string) => {
  if (broken.includes(file)) throw new Error('wrong ELF class')
  return moduleOf(file)
}

const built = 'native/build/Release/sluice.node'
const published = 'other/prebuilds/linux-x64/sluice.node'
const shipped = (folder: string) => `native/prebuilds/${folder}/sluice.node`
const x64: Machine = { platform: 'linux', arch: 'x64', libc: 'glibc' }
const arm64: Machine = { ...x64, arch: 'arm64' }
const musl: Machine = { ...x64, libc: 'musl' }
const mac: Machine = { platform: 'darwin', arch: 'arm64', libc: 'other' }
const unknownLibc: Machine = { ...x64, libc: 'other' }

interface Row {
  readonly where: string
  readonly machine: Machine
  readonly files: readonly string[]
  readonly broken?: readonly string[]
  readonly expected: string | RegExp // the loaded file, or the reason why there is none
  readonly skipped?: string // the note on a broken file that was tried before
}

const rows: readonly Row[] = [
  { where: 'built here', machine: x64, files: [built, shipped('linux-x64')], expected: built },
  {
    where: 'shipped',
    machine: x64,
    files: [shipped('linux-x64'), shipped('linux-arm64')],
    expected: shipped('linux-x64')
  },
  {
    where: 'shipped for arm',
    machine: arm64,
    files: [shipped('linux-x64'), shipped('linux-arm64')],
    expected: shipped('linux-arm64')
  },
  {
    where: 'shipped for musl',
    machine: musl,
    files: [shipped('linux-x64'), shipped('linux-x64-musl')],
    expected: shipped('linux-x64-musl')
  },
  { where: 'beside the published program', machine: x64, files: [published], expected: published },
  {
    where: 'a broken build beside an intact one',
    machine: x64,
    files: [built, shipped('linux-x64')],
    broken: [built],
    expected: shipped('linux-x64'),
    skipped: `, not ${built}: wrong ELF class`
  },
  {
    where: 'only a broken one',
    machine: x64,
    files: [built],
    broken: [built],
    expected: /sluice\.node: wrong ELF class$/
  },
  {
    where: 'glibc only, on musl',
    machine: musl,
    files: [shipped('linux-x64')],
    expected: /no binary for linux-x64 \(musl\)/
  },
  { where: 'nowhere', machine: arm64, files: [], expected: /no binary for linux-arm64 \(glibc\)/ },
  { where: 'nowhere, on macOS', machine: mac, files: [built], expected: /no native engine for darwin/ },
  { where: 'an unknown C library', machine: unknownLibc, files: [built], expected: /neither glibc nor musl/ }
]

for (const { where, machine, files, broken = [], expected, skipped = '' } of rows)
  t.test(`the binary to load: ${where}`, async t => {
    const known = files.map(file => join(file))

    const found = choose(
      ['native', 'other'],
      machine,
      file => known.includes(file),
      load(broken.map(file => join(file)))
    )

    if (typeof expected === 'string')
      t.same(found, { ok: true, from: join(expected) + skipped, module: moduleOf(join(expected)) })
    else t.match(found, { ok: false, reason: expected })
  })

t.test('loading the addon causes no DNS lookup for open connections', async t => {
  const report: { excludeNetwork?: boolean; getReport(): object } = process.report
  const asked: (boolean | undefined)[] = []
  const getReport = t.intercept(report, 'getReport', {
    value: () => {
      asked.push(report.excludeNetwork)
      return { header: { glibcVersionRuntime: '2.36' }, sharedObjects: [] }
    }
  })
  const before = report.excludeNetwork

  thisMachine()

  getReport.restore()
  t.same(asked, process.platform === 'linux' ? [true] : [])
  t.equal(report.excludeNetwork, before)
})
