import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..', '..')
export const { version, author } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string
  readonly author: string
}

/** The default folder for packages. Neither in the repository nor in the npm package. */
export const outDir = join(root, 'dist', 'packages')

export interface Folders {
  readonly work: string // emptied by each builder
  readonly out: string
}

/** Makes builds reproducible: files have the time of the commit, not of the build. */
export const epoch = process.env['SOURCE_DATE_EPOCH'] ?? run('git', ['log', '-1', '--format=%ct']).trim()

interface Options {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly remedy?: string // if the program is not installed
}

/** Runs a program and returns its output. Throws with its errors if it fails. */
export function run(
  program: string,
  args: readonly string[],
  { cwd = root, env, remedy }: Options = {}
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    env: { ...process.env, ...env }
  })
  if (error)
    throw new Error(`${program} does not run: ${error.message}${remedy === undefined ? '' : `; ${remedy}`}`)
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
}
