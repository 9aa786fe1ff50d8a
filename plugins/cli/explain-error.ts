import { existsSync } from 'node:fs'
import { readErrorIndex } from '../../config/error-index.ts'
import { Fault, notFound } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'

/** The page of the documentation that came with the package; a checkout has it after `npm run site`. */
function pageOf(code: string): { readonly page?: string } {
  const site = ['../../site/errors.html', '../../dist/site/errors.html'].map(
    at => new URL(at, import.meta.url)
  )
  const found = site.find(page => existsSync(page))
  return found ? { page: `${found.href}#${code}` } : {}
}

export const explainError = defineCommand({
  name: 'explain-error',
  summary: 'Explain an error code: when it comes, and what to do.',
  examples: ['sluice explain-error port_in_use'],
  args: Type.Object({
    code: Type.String({ description: 'The code before the colon of a message, or of `state_reason`.' })
  }),
  positional: ['code'],
  needs: 'nothing',
  async run({ args: { code }, print }) {
    const index = readErrorIndex()
    const known = Object.hasOwn(index, code) ? index[code] : undefined
    if (known) return print.data({ code, ...known, ...pageOf(code) })
    const { default: leven } = await import('leven')
    const [closest = ''] = Object.keys(index).toSorted((a, b) => leven(a, code) - leven(b, code))
    throw new Fault(
      notFound,
      `no code ${JSON.stringify(code)} is built in; the closest is ${closest}. Codes of other plugins are in sluice plugin reference`
    )
  }
})
