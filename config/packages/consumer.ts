// Lists the files that the compiler reads for a strict consumer that imports every export, with only Node's types.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './run.ts'

const options = [
  ...['--noEmit', '--listFiles', '--ignoreConfig', '--strict'],
  ...['--skipLibCheck', 'false', '--types', 'node'],
  ...['--typeRoots', ['.', root].map(dir => join(dir, 'node_modules/@types')).join()], // the first with Node's types
  ...['--module', 'nodenext', '--target', 'es2024', '--lib', 'esnext']
]

/** Returns the paths of the files that these imports read in the folder. Throws the compiler's errors. */
export function filesReadFor(imports: readonly string[], dir: string): string[] {
  const consumer = join(dir, 'consumer.mts')
  writeFileSync(consumer, imports.map((name, i) => `export * as part${i} from '${name}'\n`).join(''))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const files = run(process.execPath, [tsc, ...options, 'consumer.mts'], { cwd: dir }).split('\n')
  rmSync(consumer)
  return files
}
