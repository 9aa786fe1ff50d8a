import { join } from 'node:path'
import t from 'tap'
import type { NativeModule } from '../../native/bridge.ts'
import { chooseBinary, detectMachine, type Machine } from '../../native/load.ts'

/** Returns a fake module with its file as its only property. */
const fakeModule = (file: string) => ({ NativeEngine: file }) as unknown as NativeModule
/** Returns a loader that fails for the broken files. */
const fakeLoader = (broken: readonly string[]) => (file: string) => {
  if (broken.includes(file)) throw new Error('wrong ELF class')
  return fakeModule(file)
}

const built = 'native/build/Release/sluice.node'
const packaged = 'other/prebuilds/linux-x64/sluice.node'
const prebuild = (folder: string) => `native/prebuilds/${folder}/sluice.node`
const x64: Machine = { platform: 'linux', arch: 'x64', libc: 'glibc' }
const arm64: Machine = { ...x64, arch: 'arm64' }
const musl: Machine = { ...x64, libc: 'musl' }
const mac: Machine = { platform: 'darwin', arch: 'arm64', libc: 'other' }
const unknownLibc: Machine = { ...x64, libc: 'other' }

interface Row {
  readonly title: string
  readonly machine: Machine
  readonly files: readonly string[] // that exist
  readonly broken?: readonly string[] // that exist and cannot be loaded
  readonly expected: string | RegExp // the loaded file, or the reason of the failure
  readonly skipped?: string // the result's remark about a broken file that was tried first
}

const rows: readonly Row[] = [
  {
    title: 'a local build comes before a prebuild',
    machine: x64,
    files: [built, prebuild('linux-x64')],
    expected: built
  },
  {
    title: 'x64 loads its prebuild',
    machine: x64,
    files: [prebuild('linux-x64'), prebuild('linux-arm64')],
    expected: prebuild('linux-x64')
  },
  {
    title: 'arm64 loads its prebuild',
    machine: arm64,
    files: [prebuild('linux-x64'), prebuild('linux-arm64')],
    expected: prebuild('linux-arm64')
  },
  {
    title: 'musl loads its prebuild',
    machine: musl,
    files: [prebuild('linux-x64'), prebuild('linux-x64-musl')],
    expected: prebuild('linux-x64-musl')
  },
  {
    title: 'the published program loads the prebuild beside it',
    machine: x64,
    files: [packaged],
    expected: packaged
  },
  {
    title: 'a broken local build is skipped',
    machine: x64,
    files: [built, prebuild('linux-x64')],
    broken: [built],
    expected: prebuild('linux-x64'),
    skipped: `, not ${built}: wrong ELF class`
  },
  {
    title: 'a broken binary is an error if there is no other',
    machine: x64,
    files: [built],
    broken: [built],
    expected: /sluice\.node: wrong ELF class$/
  },
  {
    title: 'musl does not load a prebuild for glibc',
    machine: musl,
    files: [prebuild('linux-x64')],
    expected: /no binary for linux-x64 \(musl\)/
  },
  {
    title: 'a missing binary is an error',
    machine: arm64,
    files: [],
    expected: /no binary for linux-arm64 \(glibc\)/
  },
  {
    title: 'macOS has no native engine',
    machine: mac,
    files: [built],
    expected: /no native engine for darwin/
  },
  {
    title: 'an unknown C library is an error',
    machine: unknownLibc,
    files: [built],
    expected: /neither glibc nor musl/
  }
]

for (const { title, machine, files, broken = [], expected, skipped = '' } of rows)
  t.test(title, async t => {
    const existing = files.map(file => join(file))

    const found = chooseBinary(
      ['native', 'other'],
      machine,
      file => existing.includes(file),
      fakeLoader(broken.map(file => join(file)))
    )

    if (typeof expected === 'string')
      t.same(found, { ok: true, from: join(expected) + skipped, module: fakeModule(join(expected)) })
    else t.match(found, { ok: false, reason: expected })
  })

t.test('loading the addon causes no reverse DNS lookups for open connections', async t => {
  const report: { excludeNetwork?: boolean; getReport(): object } = process.report
  const excluded: (boolean | undefined)[] = [] // Node looks up each connection in a report unless this is true
  const getReport = t.intercept(report, 'getReport', {
    value: () => {
      excluded.push(report.excludeNetwork)
      return { header: { glibcVersionRuntime: '2.36' }, sharedObjects: [] }
    }
  })
  const before = report.excludeNetwork

  detectMachine()

  getReport.restore()
  t.same(excluded, process.platform === 'linux' ? [true] : [])
  t.equal(report.excludeNetwork, before)
})
