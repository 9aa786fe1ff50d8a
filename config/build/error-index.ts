// Writes config/error-index.json, which sluice explain-error reads: the cause and remedy of every error code, from the tables
// in the READMEs of the kernel, the agent and the plugins. Run it after changing these tables: npm run errors
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kernelCodes } from '../../kernel/plugin-problems.ts'
import type { ErrorIndex, ExplainedError } from '../error-index.ts'
import { plugins as builtin } from '../plugins.ts'

const root = join(import.meta.dirname, '..', '..')

export const errorIndexFile = join(root, 'config', 'error-index.json')

/** Returns the explanation of each code. Throws for a code without a row. */
export async function errorIndex(): Promise<ErrorIndex> {
  const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  const owners = [
    { by: 'kernel', codes: kernelCodes, rows: rowsIn('kernel/README.md') },
    ...plugins.map(({ name, codes = [] }) => ({ by: name, codes, rows: rowsIn(`plugins/${name}/README.md`) }))
  ]
  const own = owners.flatMap(({ by, codes, rows }) =>
    codes.map(({ code, http, exit }) => {
      const row = rows.get(code)
      if (!row)
        throw new TypeError(`the error table in the README of ${by} has no row with a remedy for ${code}`)
      return [code, { http, exit, by, ...row }] as const
    })
  )
  // Codes of the control stream, which no API call returns.
  const streamErrors = Object.entries({
    agent: 'agent/README.md',
    control: 'plugins/control/README.md'
  }).flatMap(([by, file]) => [...rowsIn(file)].map(([code, row]) => [code, { by, ...row }] as const))
  const known = new Set(own.map(([code]) => code))
  const all: (readonly [string, ExplainedError])[] = [
    ...own,
    ...streamErrors.filter(([code]) => !known.has(code))
  ]
  return Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

type Row = Pick<ExplainedError, 'when' | 'remedy'>

/** Reads the rows of a table with the columns Code, When and Remedy in the section Errors. */
function rowsIn(file: string): ReadonlyMap<string, Row> {
  const [, section = ''] =
    /^## Errors\n(.*?)(?=^## |$(?![\s\S]))/ms.exec(readFileSync(join(root, file), 'utf8')) ?? []
  const lines = section
    .split('\n')
    .filter(line => line.startsWith('|'))
    .map(cellsOf)
  const head = lines.find(([first]) => first === 'Code') ?? []
  const cell = (line: readonly string[], name: string): string => line[head.indexOf(name)] ?? ''
  return new Map(
    lines.flatMap(line =>
      cell(line, 'Remedy') === ''
        ? []
        : codesIn(cell(line, 'Code')).map(
            code => [code, { when: cell(line, 'When'), remedy: cell(line, 'Remedy') }] as const
          )
    )
  )
}

const cellsOf = (line: string): string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map(text => text.trim())

const codesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)

const head = `# Errors

\`sluice explain-error CODE\` shows one of these codes. The API replies with \`{"error": {"code", "message", "details"}}\`; a command prints \`code: message\` and ends with the
exit code. A code without an HTTP status appears only at agents and as \`state_reason\` of rules.`

/** Returns the text of docs/ERRORS.md. */
export function errorsDocument(index: ErrorIndex): string {
  const sections = Object.entries(index).map(([code, { http, exit, by, when, remedy }]) => {
    const where = http === undefined ? '' : `HTTP ${http}, exit code ${exit}, `
    return `## ${code}\n\n${where}of \`${by}\`. When: ${when}.\n\nRemedy: ${remedy}.`
  })
  return `${[head, ...sections].join('\n\n')}\n`
}

export const indexText = (index: ErrorIndex): string =>
  `{\n${Object.entries(index)
    .map(([code, row]) => `${JSON.stringify(code)}: ${JSON.stringify(row)}`)
    .join(',\n')}\n}\n`

if (import.meta.main) {
  const index = await errorIndex()
  writeFileSync(errorIndexFile, indexText(index))
}
