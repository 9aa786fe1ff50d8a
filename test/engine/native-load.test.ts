import { join } from 'node:path'
import t from 'tap'
import type { NativeModule } from '../../native/bridge.ts'
import { choose, type Machine } from '../../native/load.ts'

// A module that is only told apart.
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
const strange: Machine = { ...x64, libc: 'other' }

interface Row {
  readonly where: string
  readonly machine: Machine
  readonly files: readonly string[]
  readonly broken?: readonly string[]
  readonly taken: string | RegExp // the file, or what the reason says
  readonly over?: string // what it says of one that was tried before
}

const rows: readonly Row[] = [
  { where: 'built here', machine: x64, files: [built, shipped('linux-x64')], taken: built },
  {
    where: 'shipped',
    machine: x64,
    files: [shipped('linux-x64'), shipped('linux-arm64')],
    taken: shipped('linux-x64')
  },
  {
    where: 'shipped for arm',
    machine: arm64,
    files: [shipped('linux-x64'), shipped('linux-arm64')],
    taken: shipped('linux-arm64')
  },
  {
    where: 'shipped for musl',
    machine: musl,
    files: [shipped('linux-x64'), shipped('linux-x64-musl')],
    taken: shipped('linux-x64-musl')
  },
  { where: 'beside the published program', machine: x64, files: [published], taken: published },
  {
    where: 'a broken build beside a whole one',
    machine: x64,
    files: [built, shipped('linux-x64')],
    broken: [built],
    taken: shipped('linux-x64'),
    over: `, not ${built}: wrong ELF class`
  },
  {
    where: 'only a broken one',
    machine: x64,
    files: [built],
    broken: [built],
    taken: /sluice\.node: wrong ELF class$/
  },
  {
    where: 'glibc only, on musl',
    machine: musl,
    files: [shipped('linux-x64')],
    taken: /no binary for linux-x64 \(musl\)/
  },
  { where: 'nowhere', machine: arm64, files: [], taken: /no binary for linux-arm64 \(glibc\)/ },
  { where: 'nowhere, on macOS', machine: mac, files: [built], taken: /no native engine for darwin/ },
  { where: 'an unknown C library', machine: strange, files: [built], taken: /neither glibc nor musl/ }
]

for (const { where, machine, files, broken = [], taken, over = '' } of rows)
  t.test(`a binary that is ${where}`, async t => {
    const known = files.map(file => join(file))

    const found = choose(
      ['native', 'other'],
      machine,
      file => known.includes(file),
      load(broken.map(file => join(file)))
    )

    if (typeof taken === 'string')
      t.same(found, { ok: true, from: join(taken) + over, module: moduleOf(join(taken)) })
    else t.match(found, { ok: false, reason: taken })
  })
