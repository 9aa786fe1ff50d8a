// Finds error codes that a plugin defines but does not list. OpenAPI and the reference would lack them.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from '../../kernel/plugin.ts'
import { errorExplanationSlot } from '../../plugins/cli/error-explanation.ts'
import { filledBare } from '../../plugins/cli/program/installed-commands.ts'

const definition = /\bdefineCode\(\s*(['"])([\w.-]+)\1/g

/** Reads the sources in the folder `dir`, except tests and packages. */
export function codeProblems(dir: string, { codes = [] }: Plugin): string[] {
  const listed = new Set(codes.map(({ code }) => code))
  return sourcesIn(dir).flatMap(path =>
    [...readFileSync(join(dir, path), 'utf8').matchAll(definition)]
      .map(([, , code = '']) => code)
      .filter(code => !listed.has(code))
      .map(code => `${path} defines the code ${code}; add it to \`codes\` of the plugin`)
  )
}

/** Returns a note for each code that `sluice explain-error` cannot explain. */
export function unexplainedCodes(plugin: Plugin): string[] {
  const explained = new Set(filledBare(errorExplanationSlot, [plugin]).map(({ value }) => value.code.code))
  return (plugin.codes ?? [])
    .filter(({ code }) => !explained.has(code))
    .map(
      ({ code }) => `the code ${code} has no explanation; fill errorExplanationSlot with its cause and remedy`
    )
}

const sourcesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter(path => /\.[jt]s$/.test(path) && !/(^|\/)(node_modules|test|\.[^/]+)\//.test(path))
    .sort()
