import { homedir } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { Fault, wrongUsage } from '../base/errors.ts'
import { isQuoted } from './secret-problem.ts'

/** Returns why a configured path would not name the file that its author means, with the remedy; null if it is fine. */
export function pathProblem(path: string): string | null {
  const got = `got ${JSON.stringify(path)}`
  if (/\p{Cc}/u.test(path))
    return `must not have a line break or another control character, ${got}; remove it`
  if (path.trim() !== path) return `must not begin or end with white space, ${got}; remove it`
  if (isQuoted(path)) return `must not be in quotes, ${got}; remove them: here they are part of the name`
  if (path.startsWith('~'))
    return `must be an absolute path, ${got}; write ${homeOf(path)}: only a shell expands ~`
  if (/\$[\w{(]/.test(path))
    return `must not have a variable, ${got}; write its value: only a shell expands $`
  if (isAbsolute(path)) return null
  return `must be an absolute path, ${got}; write ${resolve(path)}: a service has another working directory`
}

const homeOf = (path: string): string => path.replace(/^~(?=\/|$)/, homedir()).replace(/^~/, '/home/')

/** Completes a path from the command line, which is relative to the working directory. Leaves `~` for `pathProblem`. */
export const pathFromFlag = (path: string): string => (/^[~$"'\s]/.test(path) ? path : resolve(path))

/** Returns the absolute path that an argument of a command names. Throws Fault for `~` and other forms that only a shell knows. */
export function pathArgument(name: string, path: string): string {
  const absolute = pathFromFlag(path)
  const problem = pathProblem(absolute)
  if (problem !== null) throw new Fault(wrongUsage, `${name} ${problem}`)
  return absolute
}
