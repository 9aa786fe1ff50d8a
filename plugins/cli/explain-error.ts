import { existsSync } from 'node:fs'
import { readErrorIndex } from '../../config/error-index.ts'
import { Fault, notFound } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'

/** Returns the URL of the error's documentation page. A package contains it; in a checkout `npm run site` builds it. */
function pageOf(code: string): { readonly page?: string } {
  const site = ['../../site/errors.html', '../../dist/site/errors.html'].map(
    at => new URL(at, import.meta.url)
  )
  const found = site.find(page => existsSync(page))
  return found ? { page: `${found.href}#${code}` } : {}
}

export const explainError = defineCommand({
  name: 'explain-error',
  summary: 'Explain an error code: when it occurs and how to fix it.',
  examples: ['sluice explain-error port_in_use'],
  args: Type.Object({
    code: Type.String({ description: 'The code before the colon of an error message or of `state_reason`.' })
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
      `there is no built-in error code ${JSON.stringify(code)}; did you mean ${closest}? sluice plugin reference lists the codes of other plugins`
    )
  }
})
