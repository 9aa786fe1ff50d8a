import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { makeDebs } from './deb.ts'
import { buildEngine } from './engine.ts'
import { makeImage, makeJointImage } from './image.ts'
import { makeNpm } from './npm.ts'
import { makeRpms } from './rpm.ts'
import { type Folders, outDir, run } from './run.ts'
import { makeTarball } from './tarball.ts'
import { type Target, targets } from './targets.ts'

/** Makes the packages of one machine. */
type Maker = (target: Target, folders: Folders) => string | readonly string[]

const forAllMachines: Maker = () => []
const makers: Readonly<Record<string, Maker>> = {
  npm: forAllMachines,
  tarball: makeTarball,
  deb: makeDebs,
  rpm: makeRpms,
  image: makeImage
}

const { values } = parseArgs({
  options: {
    kind: { type: 'string', default: Object.keys(makers).join() },
    target: { type: 'string', default: targets.map(({ name }) => name).join() },
    native: { type: 'string', default: 'cross' }, // local: the engines in native/prebuilds
    build: { type: 'string', default: 'yes' }, // no: use the existing dist/
    out: { type: 'string', default: outDir }
  }
})

/** Returns the chosen values of an option. Throws for an unknown one. */
function chosen<T>(option: string, given: string, known: Readonly<Record<string, T>>): T[] {
  return given.split(',').map(name => {
    const value = Object.hasOwn(known, name) ? known[name] : undefined
    if (value === undefined)
      throw new Error(`--${option} ${name} is not known; there are ${Object.keys(known).join(', ')}`)
    return value
  })
}

const machines = chosen('target', values.target, Object.fromEntries(targets.map(one => [one.name, one])))
const kinds = chosen('kind', values.kind, makers)
const [native] = chosen('native', values.native, { cross: buildEngine, local: () => {} })
const [isBuilt] = chosen('build', values.build, { yes: false, no: true })

if (!isBuilt) run(process.execPath, ['config/build/dist.ts'])
process.umask(0o022)
const out = resolve(values.out)
mkdirSync(out, { recursive: true })
const work = mkdtempSync(join(out, '.work-'))
try {
  for (const target of machines) {
    native?.(target)
    for (const file of kinds.flatMap(make => make(target, { work, out }))) process.stdout.write(`${file}\n`)
  }
  const imaged = machines.filter(({ libc }) => libc === 'glibc')
  if (kinds.includes(makeImage) && imaged.length > 1)
    process.stdout.write(`${makeJointImage({ work, out }, imaged)}\n`)
  // last, since it contains the engines of all machines
  if (kinds.includes(forAllMachines)) process.stdout.write(`${makeNpm({ work, out })}\n`)
} finally {
  rmSync(work, { recursive: true })
}
