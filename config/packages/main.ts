import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { makeDebs } from './deb.ts'
import { buildEngine } from './engine.ts'
import { makeImage, makeJointImage } from './image.ts'
import { makeNpm } from './npm.ts'
import { type Chosen, type Kind, readOptions } from './options.ts'
import { makeRpms } from './rpm.ts'
import { type Folders, run } from './run.ts'
import { makeTarball } from './tarball.ts'
import type { Target } from './targets.ts'
import { writeChecksums } from './write-checksums.ts'

/** Makes the packages of one machine. */
type Maker = (target: Target, folders: Folders) => readonly string[]

const makers: Readonly<Record<Exclude<Kind, 'npm'>, Maker>> = {
  tarball: makeTarball,
  deb: makeDebs,
  rpm: makeRpms,
  image: makeImage
}

interface Step {
  readonly what: string
  readonly run: (folders: Folders) => readonly string[] // paths of new packages
}

/** Returns what is to do, in order. */
function stepsFor({ kinds, machines, builds, native, out }: Chosen): Step[] {
  const build = (): readonly string[] => {
    run(process.execPath, ['config/build/dist.ts'])
    return []
  }
  const ofMachine = (target: Target): Step[] => [
    ...(native === 'local'
      ? []
      : [{ what: `compile the engine for ${target.name}`, run: () => compiled(target) }]),
    ...kinds.flatMap(kind =>
      kind === 'npm' || (target.libc === 'musl' && kind !== 'tarball')
        ? []
        : [{ what: `${kind} for ${target.name}`, run: (folders: Folders) => makers[kind](target, folders) }]
    )
  ]
  const imaged = machines.filter(({ libc }) => libc === 'glibc')
  const isJoint = kinds.includes('image') && imaged.length > 1
  return [
    ...(builds ? [{ what: 'build the program', run: build }] : []),
    ...machines.flatMap(ofMachine),
    ...(isJoint
      ? [{ what: 'image for all machines', run: (folders: Folders) => makeJointImage(folders, imaged) }]
      : []),
    // late, since it contains the engines of all machines
    ...(kinds.includes('npm') ? [{ what: 'npm package', run: makeNpm }] : []),
    { what: 'checksums', run: () => [writeChecksums(out)] }
  ]
}

function compiled(target: Target): readonly string[] {
  buildEngine(target)
  return []
}

/** Runs the steps. Says on standard error what it does and how much is left, and on standard output what it has written. */
function runAll(steps: readonly Step[], out: string): void {
  process.umask(0o022)
  mkdirSync(out, { recursive: true })
  const work = mkdtempSync(join(out, '.work-'))
  try {
    for (const [done, { what, run }] of steps.entries()) {
      process.stderr.write(`[${done + 1}/${steps.length}] ${what} ...\n`)
      const startedAt = performance.now()
      const files = run({ work, out })
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      const named = files.length === 0 ? '' : `: ${files.map(file => basename(file)).join(', ')}`
      process.stderr.write(`[${done + 1}/${steps.length}] ${what}, ${seconds} s${named}\n`)
      for (const file of files) process.stdout.write(`${file}\n`)
    }
  } finally {
    rmSync(work, { recursive: true })
  }
}

const options = readOptions(process.argv.slice(2))
if ('text' in options) {
  const { text, exit } = options
  ;(exit === 0 ? process.stdout : process.stderr).write(text)
  process.exitCode = exit
} else runAll(stepsFor(options), options.out)
