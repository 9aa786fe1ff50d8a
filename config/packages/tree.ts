// The program as packages install it: the files of the npm package and its dependencies, for one machine or for all,
// without files that only compilers and editors read.
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyDependencies, copyPrebuilds } from './dependencies.ts'
import { nodeOf } from './downloads.ts'
import { builtEngine } from './engine.ts'
import { root, run } from './run.ts'
import type { Target } from './targets.ts'

/** Returns the files that `npm pack` takes. */
export function ownFiles(): string[] {
  const [{ files }] = JSON.parse(run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'])) as [
    { files: readonly { path: string }[] }
  ]
  return files.map(({ path }) => path)
}

/** Packages that only types, compilers and npm's installation use. */
const notRun = ['@types/better-sqlite3', 'node-addon-api', 'node-api-headers', 'cross-env']

/** Documents stay in the program itself, and so does the template of `sluice plugin new`. */
const unreadOwn = /^dist\/(?!plugins\/extensions\/template).*(\.map|\.d\.ts)$|^native\/|^test\/|^dist\/man\//

/** Copies the program with Node for one machine. It starts with `bin/sluice`. */
export function writeTree(dir: string, target: Target): void {
  const own = ownFiles().filter(file => !unreadOwn.test(file))
  for (const file of own) cpSync(join(root, file), join(dir, file))
  copyDependencies(dir, { without: notRun, types: 'without types' })
  copyPrebuilds(dir, target, 'plain')
  cpSync(builtEngine(target), join(dir, 'native', 'prebuilds', target.name, 'sluice.node'))
  cpSync(nodeOf(target), dir, { recursive: true, verbatimSymlinks: true })
  const program = join(dir, 'dist', 'kernel', 'bin.js')
  writeFileSync(program, readFileSync(program, 'utf8').replace(/^#!.*\n/, '')) // `bin/sluice` starts it
  mkdirSync(join(dir, 'bin'))
  writeFileSync(join(dir, 'bin', 'sluice'), launcher)
  setModes(dir, ['bin/sluice', 'node/bin/node'])
}

/** All users can read the files, whatever their modes in the checkout, and execute these. */
function setModes(dir: string, programs: readonly string[]): void {
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644)
  for (const program of programs) chmodSync(join(dir, program), 0o755)
}

const launcher = `#!/bin/sh
# Starts sluice with the Node beside it, whatever Node this machine has.
self=$(readlink -f "$0")
root=\${self%/bin/sluice}
exec "$root/node/bin/node" "$root/dist/kernel/bin.js" "$@"
`
