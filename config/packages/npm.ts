// The npm package: the program, its libraries inside, and the native engine for each machine. Installing it compiles
// and downloads nothing else.
import { cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesReadFor } from './consumer.ts'
import { copyDependencies, copyPrebuilds } from './dependencies.ts'
import { engineOf } from './engine.ts'
import { programContents } from './program-contents.ts'
import { epoch, type Folders, root, run } from './run.ts'
import { targets } from './targets.ts'
import { ownFiles } from './tree.ts'
import { writeSbom } from './write-sbom.ts'

/** Packages that only compilers and installation use. @types/better-sqlite3 needs Node's types, which its user has. */
const notRun = ['node-addon-api', 'node-api-headers', 'cross-env', '@types/node']

/** Contains the engines for every machine that the libraries support. */
const unused = /^native\/|\.map$/

/** Returns the paths of the package and of its list of components. */
export function makeNpm({ work, out }: Folders): readonly string[] {
  const dir = join(work, 'npm')
  for (const file of ownFiles().filter(file => !unused.test(file))) cpSync(join(root, file), join(dir, file))
  copyDependencies(dir, { without: notRun, types: 'with types' })
  for (const target of targets) {
    copyPrebuilds(dir, target, 'tagged')
    const engine = engineOf(target)
    if (existsSync(engine)) cpSync(engine, join(dir, 'native/prebuilds', target.name, 'sluice.node'))
  }
  const { dependencies, ...manifest } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8')
  ) as Manifest
  const kept = Object.entries(dependencies).filter(([name]) => !notRun.includes(name))
  const published = {
    ...manifest,
    scripts: undefined,
    workspaces: undefined,
    devDependencies: undefined,
    allowScripts: undefined,
    dependencies: Object.fromEntries(kept),
    bundleDependencies: kept.map(([name]) => name)
  }
  writeFileSync(join(dir, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  deleteUnreadTypes(dir, Object.keys(published.exports))
  const [{ filename }] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', out], {
      cwd: dir,
      env: { SOURCE_DATE_EPOCH: epoch }
    })
  ) as [{ filename: string }]
  const file = join(out, filename)
  return [file, writeSbom(file, programContents(dir, null))]
}

/** Deletes declarations that the compiler never reads for a consumer that imports every export. */
function deleteUnreadTypes(dir: string, exported: readonly string[]): void {
  const modules = exported.filter(name => !name.endsWith('.json')).map(name => `sluice${name.slice(1)}`)
  const read = new Set(filesReadFor(modules, dir))
  const unread = globSync('{dist,node_modules}/**/*.d.{ts,mts,cts}', { cwd: dir })
    .filter(file => !file.includes('/template/'))
    .map(file => join(dir, file))
    .filter(file => !read.has(file))
  for (const file of unread) rmSync(file)
}

interface Manifest {
  readonly exports: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
}
