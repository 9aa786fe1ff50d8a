// Runs after `npm install`: builds the native engine where the tools are, and never fails without them.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const { SLUICE_SKIP_NATIVE, CXX = 'g++' } = process.env
const here = import.meta.dirname
const works = (program, ...args) => spawnSync(program, args, { stdio: 'ignore' }).status === 0

/** glibc only: for another C library there is no prebuilt one. */
const isShipped = () =>
  process.report.getReport().header.glibcVersionRuntime !== undefined &&
  existsSync(join(here, 'prebuilds', `${process.platform}-${process.arch}`, 'sluice.node'))

/** Why nothing is built, or null. */
function reasonAgainst() {
  if (SLUICE_SKIP_NATIVE === '1') return 'SLUICE_SKIP_NATIVE is set'
  if (process.platform !== 'linux') return `there is none for ${process.platform}`
  if (!existsSync(join(here, 'src'))) return 'its source is not in this package'
  if (here.includes('node_modules') && isShipped()) return 'it was shipped for this machine'
  if (!works('make', '--version')) return 'make is not installed'
  return works(CXX, '-std=c++20', '-x', 'c++', '-fsyntax-only', '/dev/null') ? null : `${CXX} knows no C++20`
}

const reason = reasonAgainst()
if (reason !== null) console.log(`sluice: the native engine is not built here: ${reason}`)
else {
  const { status } = spawnSync('make', ['-C', here, '-s', '-j2', 'all'], { stdio: 'inherit' })
  const outcome =
    status === 0
      ? 'the native engine is built'
      : 'the native engine could not be built; the portable one runs'
  console.log(`sluice: ${outcome}`)
}
