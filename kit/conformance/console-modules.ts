// Checks the scripts of a plugin's pages and cards. The server only serves them; a browser runs them later.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Made } from './slots.ts'

/** The checked properties of a page, card or step. The plugin `console` is optional, so its slots are known by their ids. */
interface Part {
  readonly element: string
  readonly module: URL
}

const slots = ['console.page', 'console.card', 'console.step']

/** Returns the scripts of the plugin that do not parse, or that do not define their element. */
export function consoleProblems(name: string, made: readonly Made[]): string[] {
  const own = made.filter(({ by, slot }) => by === name && slots.includes(slot.id))
  const parts = [...new Set(own.map(({ value }) => value as Part))]
  return parts.flatMap(({ element, module }) => {
    const source = readFileSync(module, 'utf8') // the start refuses a file that is missing
    const problem = syntaxProblem(source) ?? elementProblem(source, element)
    return problem === null ? [] : [`console module of ${element}: ${problem}`]
  })
}

/** Parses the module without running it. */
function syntaxProblem(source: string): string | null {
  const args = ['--check', '--input-type=module', '-']
  const { status, stderr } = spawnSync(process.execPath, args, { input: source, encoding: 'utf8', env: {} })
  if (status === 0) return null
  const line = /^\[stdin\]:(\d+)/m.exec(stderr)?.[1] ?? '?'
  return `line ${line}: ${/^\w*Error: .*$/m.exec(stderr)?.[0] ?? stderr.trim()}`
}

/** A name that the script computes cannot be compared, and passes. */
function elementProblem(source: string, element: string): string | null {
  const defined = source.matchAll(/\bcustomElements\s*\.\s*define\s*\(\s*(?:(['"`])([^'"`$]*)\1)?/g)
  const names = [...defined].map(([, , name]) => name)
  if (names.length === 0) return `it defines no element; add customElements.define('${element}', ...)`
  if (names.includes(undefined) || names.includes(element)) return null
  return `it defines ${names.join(', ')}, not ${element}; use one name for both`
}
