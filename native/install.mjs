// Runs after `npm install`: builds the native engine if the tools are installed, and succeeds without them.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const { SLUICE_SKIP_NATIVE, CXX = 'g++' } = process.env
const here = import.meta.dirname
const works = (program, ...args) => spawnSync(program, args, { stdio: 'ignore' }).status === 0

/** Prebuilds are for glibc only. */
const hasPrebuild = () =>
  process.report.getReport().header.glibcVersionRuntime !== undefined &&
  existsSync(join(here, 'prebuilds', `${process.platform}-${process.arch}`, 'sluice.node'))

/** Returns why nothing is built, or null. */
function skipReason() {
  if (SLUICE_SKIP_NATIVE === '1') return 'SLUICE_SKIP_NATIVE is set'
  if (process.platform !== 'linux') return `there is none for ${process.platform}`
  if (!existsSync(join(here, 'src'))) return 'its source is not in this package'
  if (here.includes('node_modules') && hasPrebuild()) return 'it was shipped for this machine'
  if (!works('make', '--version')) return 'make is not installed'
  return works(CXX, '-std=c++20', '-x', 'c++', '-fsyntax-only', '/dev/null') ? null : `${CXX} lacks C++20`
}

const reason = skipReason()
if (reason !== null) console.log(`sluice: the native engine is not built here: ${reason}`)
else {
  const { status } = spawnSync('make', ['-C', here, '-s', '-j2', 'all'], {
    stdio: ['ignore', 'ignore', 'inherit'] // without the names of the files
  })
  const outcome =
    status === 0
      ? 'the native engine is built'
      : 'the native engine could not be built; the portable one runs'
  console.log(`sluice: ${outcome}`)
}
