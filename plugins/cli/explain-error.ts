import { existsSync } from 'node:fs'
import { readErrorIndex } from '../../config/error-index.ts'
import { Fault, notFound } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { errorExplanationSlot } from './error-explanation.ts'

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
  reads: [errorExplanationSlot],
  needs: 'nothing',
  async run({ args: { code }, filled, print }) {
    const index = readErrorIndex()
    const known = Object.hasOwn(index, code) ? index[code] : undefined
    if (known) return print.data({ code, ...known, ...pageOf(code) })
    const external = filled(errorExplanationSlot).find(({ value }) => value.code.code === code)
    if (external) {
      const { by, value } = external
      return print.data({ ...value.code, by, when: value.when, remedy: value.remedy })
    }
    const { default: leven } = await import('leven')
    const [closest = ''] = Object.keys(index).toSorted((a, b) => leven(a, code) - leven(b, code))
    throw new Fault(
      notFound,
      `there is no error code ${JSON.stringify(code)}; did you mean ${closest}? Codes of other plugins are known with --config, ` +
        'and sluice plugin reference lists them'
    )
  }
})
