// Runs after `npm install`: builds the native engine if a compiler is installed, and succeeds without one.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const { SLUICE_SKIP_NATIVE, CXX = 'g++' } = process.env
const here = import.meta.dirname
const works = (program, ...args) => spawnSync(program, args, { stdio: 'ignore' }).status === 0

/** Prebuilt engines need glibc. */
const hasPrebuild = () =>
  process.report.getReport().header.glibcVersionRuntime !== undefined &&
  existsSync(join(here, 'prebuilds', `${process.platform}-${process.arch}`, 'sluice.node'))

/** Returns why the engine is not built here, or null if it is. */
function skipReason() {
  if (SLUICE_SKIP_NATIVE === '1') return 'SLUICE_SKIP_NATIVE is set'
  if (process.platform !== 'linux') return `it does not support ${process.platform}`
  if (!existsSync(join(here, 'src'))) return 'this package has no source of it'
  if (here.includes('node_modules') && hasPrebuild()) return 'the package has a prebuilt one for this machine'
  if (!works('make', '--version')) return 'make is not installed'
  return works(CXX, '-std=c++20', '-x', 'c++', '-fsyntax-only', '/dev/null') ? null : `${CXX} lacks C++20`
}

const reason = skipReason()
if (reason !== null) console.log(`sluice: skipping the native engine: ${reason}`)
else {
  console.log('sluice: compiling the native engine (about 30 s of CPU time) ...')
  const start = performance.now()
  const { status } = spawnSync('make', ['-C', here, '-s', '-j2', 'all'], {
    stdio: ['ignore', 'ignore', 'inherit'] // errors of the compiler only
  })
  const seconds = Math.round((performance.now() - start) / 1000)
  console.log(
    status === 0
      ? `sluice: compiled the native engine in ${seconds} s`
      : 'sluice: could not compile the native engine; agents use the portable one'
  )
}
