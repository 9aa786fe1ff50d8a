import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const sources = join(import.meta.dirname, '../../native/test')

/** Compiles a C file of native/test as a program. Returns false if there is no compiler. Throws if the file is wrong. */
export const compileProgram = (source: string, output: string): boolean =>
  compile(['-o', output, join(sources, source)])

/** Compiles a C file of native/test as a library that LD_PRELOAD can load. Otherwise as `compileProgram`. */
export const compileLibrary = (source: string, output: string): boolean =>
  compile(['-shared', '-fPIC', '-o', output, join(sources, source), '-ldl'])

function compile(args: readonly string[]): boolean {
  const { LD_PRELOAD: _, ...env } = process.env
  const { status, error, stderr } = spawnSync('cc', args, { env, encoding: 'utf8' })
  if (status === 0) return true
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return false
  throw new Error(`cc ${args.join(' ')}: ${stderr}`, { cause: error })
}
